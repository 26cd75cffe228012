"""Text to tensors: this package's token indexer and `batch_to_ids` beside AllenNLP's."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from elmo_plugin.benchmark import timing
from elmo_plugin.benchmark.peers.allennlp import import_elmo
from elmo_plugin.benchmark.text import Sentence
from elmo_plugin.benchmark.timing import Spread
from elmo_plugin.engine import characters

Batches = Sequence[Sequence[Sentence]]
Tensors = Callable[[], List[torch.Tensor]]
ToTensors = Callable[[Batches], Tensors]


@dataclass(frozen=True)
class IndexingResult:
    """
    What came out for one way from text to tensors.

    # Parameters

    what : "token indexer", from the tokens of text fields to the tensor of a batch, or "batch_to_ids". "new words":
        this package remembers no word from before; one that comes again in the text is remembered.
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
        ready = {"stock": stock(batches), "ours": ours(batches)}
        equal = all(torch.equal(one, other) for one, other in zip(ready["ours"](), ready["stock"]()))
        times: Dict[str, List[float]] = {"ours": [], "stock": []}
        if equal:
            times = timing.in_turns({name: partial(_timed, task) for name, task in ready.items()}, rounds, seconds)
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


def _ways() -> Dict[str, Tuple[ToTensors, ToTensors]]:
    """What is compared: here and in AllenNLP."""
    elmo = import_elmo()
    from allennlp.data.token_indexers import ELMoTokenCharactersIndexer

    from elmo_plugin.token_indexers.elmo import ElmoIndexer

    indexers = partial(_index, ElmoIndexer()), partial(_index, ELMoTokenCharactersIndexer())
    functions = partial(_convert, characters.batch_to_ids), partial(_convert, elmo.batch_to_ids)
    return {
        "token indexer": indexers,
        "token indexer, new words": (partial(_forgetting, indexers[0]), indexers[1]),
        "batch_to_ids": functions,
        "batch_to_ids, new words": (partial(_forgetting, functions[0]), functions[1]),
    }


def _index(indexer: Any, batches: Batches) -> Tensors:
    """As a data loader does it: indices, padding, one tensor. A reader has made tokens and fields before."""
    from allennlp.data import Token, Vocabulary
    from allennlp.data.fields import TextField

    fields = [[TextField([Token(word) for word in sentence], {"elmo": indexer}) for sentence in b] for b in batches]
    vocabulary = Vocabulary()
    return lambda: [_tensor(batch, vocabulary) for batch in fields]


def _tensor(fields: Sequence[Any], vocabulary: Any) -> torch.Tensor:
    padding: Dict[str, int] = {}
    for field in fields:
        field.index(vocabulary)
        for key, length in field.get_padding_lengths().items():
            padding[key] = max(length, padding.get(key, 0))
    tensor_dict = fields[0].batch_tensors([field.as_tensor(padding) for field in fields])
    return tensor_dict["elmo"]["elmo_tokens"]


def _convert(batch_to_ids: Any, batches: Batches) -> Tensors:
    return lambda: [batch_to_ids(batch) for batch in batches]


def _forgetting(to_tensors: ToTensors, batches: Batches) -> Tensors:
    tensors = to_tensors(batches)

    def forget_and_convert() -> List[torch.Tensor]:
        characters.remembered_rows.cache_clear()
        return tensors()

    return forget_and_convert


def _timed(tensors: Tensors) -> float:
    begun = time.perf_counter()
    tensors()
    return time.perf_counter() - begun
