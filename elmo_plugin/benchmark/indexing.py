"""Text to tensors: this package's token indexer and `batch_to_ids` beside AllenNLP's."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, List, Sequence

import torch

from elmo_plugin.benchmark import timing
from elmo_plugin.benchmark.peers.allennlp import import_elmo
from elmo_plugin.benchmark.text import Sentence
from elmo_plugin.benchmark.timing import Spread

Batches = Sequence[Sequence[Sentence]]
ToTensors = Callable[[Batches], List[torch.Tensor]]


@dataclass(frozen=True)
class IndexingResult:
    """
    What came out for one way from text to tensors.

    # Parameters

    what : "token indexer", from tokens to the tensor of a batch, or "batch_to_ids".
    words : of one round.
    equal : whether the tensors are equal to AllenNLP's; where not there are no times.
    seconds, stock_seconds : of each round, here and in AllenNLP.
    words_per_second : here, at the median; 0 without times.
    ratio : how many times as fast as AllenNLP's.
    """

    what: str
    words: int
    equal: bool
    seconds: List[float]
    stock_seconds: List[float]
    words_per_second: float
    ratio: Spread


def measure(batches: Batches, rounds: int, seconds: float) -> List[IndexingResult]:
    """
    Compare tensors, then measure in turns.

    # Raises

    `PeerUnavailableError` where AllenNLP is not installed.
    """
    words = sum(len(sentence) for batch in batches for sentence in batch)
    results = []
    for what, (ours, stock) in _ways().items():
        equal = all(torch.equal(one, other) for one, other in zip(ours(batches), stock(batches)))
        times: Dict[str, List[float]] = {"ours": [], "stock": []}
        if equal:
            tasks = {"stock": partial(_timed, stock, batches), "ours": partial(_timed, ours, batches)}
            times = timing.in_turns(tasks, rounds, seconds)
        results.append(
            IndexingResult(
                what=what,
                words=words,
                equal=equal,
                seconds=times["ours"],
                stock_seconds=times["stock"],
                words_per_second=words / timing.quantile(times["ours"], 0.5) if equal else 0.0,
                ratio=timing.spread(timing.ratios(times["stock"], times["ours"]) if equal else [0.0]),
            )
        )
    return results


def _ways() -> Dict[str, Any]:
    elmo = import_elmo()
    from allennlp.data.token_indexers import ELMoTokenCharactersIndexer

    from elmo_plugin.engine.characters import batch_to_ids
    from elmo_plugin.token_indexers.elmo import ElmoIndexer

    return {
        "token indexer": (partial(_index, ElmoIndexer()), partial(_index, ELMoTokenCharactersIndexer())),
        "batch_to_ids": (partial(_convert, batch_to_ids), partial(_convert, elmo.batch_to_ids)),
    }


def _index(indexer: Any, batches: Batches) -> List[torch.Tensor]:
    """As a data loader does it: fields, indices, padding, one tensor."""
    from allennlp.data import Token, Vocabulary
    from allennlp.data.fields import TextField

    vocabulary = Vocabulary()
    tensors = []
    for batch in batches:
        fields = [TextField([Token(word) for word in sentence], {"elmo": indexer}) for sentence in batch]
        for field in fields:
            field.index(vocabulary)
        padding: Dict[str, int] = {}
        for field in fields:
            for key, length in field.get_padding_lengths().items():
                padding[key] = max(length, padding.get(key, 0))
        tensor_dict = fields[0].batch_tensors([field.as_tensor(padding) for field in fields])
        tensors.append(tensor_dict["elmo"]["elmo_tokens"])
    return tensors


def _convert(batch_to_ids: Any, batches: Batches) -> List[torch.Tensor]:
    return [batch_to_ids(batch) for batch in batches]


def _timed(to_tensors: ToTensors, batches: Batches) -> float:
    begun = time.perf_counter()
    to_tensors(batches)
    return time.perf_counter() - begun
