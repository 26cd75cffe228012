"""A biLM over a window of sentences: batches in any order, vectors in the order of the text."""

from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch

from elmo_plugin.embedding.layers import Choice, LayerChoice
from elmo_plugin.embedding.windows import BatchPlan, rounds
from elmo_plugin.engine.backends.base import FLOAT32
from elmo_plugin.engine.bilm import BiLm, PackedLayers
from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError
from elmo_plugin.engine.fingerprint import fingerprint
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.sentence_ids import SentenceIds
from elmo_plugin.engine.state import CARRIED
from elmo_plugin.engine.warm import warm_up
from elmo_plugin.engine.word_cache import MEGABYTES, WordCache
from elmo_plugin.formats.weight_set import WeightSet

#: the biLM of AllenNLP 0.9 where none is named
DEFAULT_WEIGHTS = "original"

#: sentences in a batch where the state goes from batch to batch, as in AllenNLP 0.9
CARRIED_ROWS = 64

#: tokens in a batch, by the kind of device
BATCH_TOKENS: Dict[str, int] = {"cpu": 4096, "cuda": 16384}


def build_bilm(
    weights: WeightSet,
    *,
    state: str,
    backend: str = "auto",
    device: str = "cpu",
    precision: str = FLOAT32,
    word_cache: float = MEGABYTES,
) -> BiLm:
    """
    Build a frozen biLM that is ready to run.

    # Parameters

    weights : what `elmo_plugin.formats.read_weights` gives.
    state : "carried", "reset" or "warm"; a warm state that the weights do not bring is computed.
    backend : "auto", or the name of a backend, which is then used or refused.
    device : "cpu", "cuda" or "cuda:N".
    precision, word_cache : as `BiLm` takes them.

    # Raises

    `BackendUnavailableError` for a GPU that is not there; the errors of `BiLm`.
    """
    _check_device(device)
    with torch.random.fork_rng(devices=[]):
        bilm = BiLm(weights.options, backend=backend, state=state, word_cache=word_cache, precision=precision)
    bilm.load_tensors(weights.tensors, source=weights.source)
    bilm = bilm.to(device).eval()
    if bilm.warm is not None and not bilm.warm.is_set:
        warm_up(bilm, vocabulary=weights.vocabulary)
    return bilm


def device_name(cuda_device: int) -> str:
    """What `build_bilm` calls a GPU by its number, as AllenNLP gives it; any number below 0 is the CPU."""
    return "cpu" if cuda_device < 0 else f"cuda:{cuda_device}"


def _check_device(device: str) -> None:
    kind, _, index = device.partition(":")
    if kind == "cuda" and int(index or 0) >= torch.cuda.device_count():
        raise BackendUnavailableError(
            f"device {device!r}: PyTorch {torch.__version__} finds {torch.cuda.device_count()} GPUs here. Use one of "
            "these, or the CPU (--cuda-device -1)."
        )


class SentenceEmbedder:
    """
    Sentences to the vectors of their tokens, without the boundaries.

    Where state is carried, line `n` of a text goes on from where line `n - batch_rows` ended, whatever the windows are:
    so it is in AllenNLP 0.9, with batches of that size.

    # Parameters

    bilm : frozen.
    vocabulary : the words of a word-level biLM.
    layers : as `LayerChoice` takes them.
    batch_tokens : tokens in a batch; None for the default of the device.
    batch_rows : sentences in a batch, at most; None for 64 where state is carried, else for no limit.

    # Raises

    `OptionsError` for layers that the biLM does not have, and for a batch of nothing.
    """

    def __init__(
        self,
        bilm: BiLm,
        vocabulary: Optional[List[str]] = None,
        layers: Choice = "all",
        batch_tokens: Optional[int] = None,
        batch_rows: Optional[int] = None,
    ) -> None:
        for name, value in (("--batch-tokens", batch_tokens), ("--batch-size", batch_rows)):
            if value is not None and value < 1:
                raise OptionsError(f"{name} is {value}, expected 1 or more.")
        self.bilm = bilm
        self._vocabulary = vocabulary
        self.choice = LayerChoice(layers, bilm.num_layers)
        device = bilm.token_encoder.boundaries.device.type
        self.plan = BatchPlan(batch_tokens or BATCH_TOKENS.get(device, BATCH_TOKENS["cpu"]), batch_rows)
        if bilm.state == CARRIED:
            self.plan = self.plan._replace(rows=batch_rows or CARRIED_ROWS)
        #: lists of tokens to what the biLM reads
        self.to_ids = SentenceIds(bilm, vocabulary)
        #: what every row carries, on the CPU, where state is carried; None for the beginning
        self.carried: Optional[LstmState] = None

    def fingerprint(self) -> str:
        """What vectors depend on beside the text, the words of a word-level biLM included, in 64 hexadecimal digits."""
        return fingerprint(self.bilm, self._vocabulary).hex()

    def begin_part(self) -> None:
        """
        Let nothing of earlier calls decide about the last digits of the next ones.

        The vector of a word that the biLM keeps depends, in its last digits, on the batch in which it came first.
        """
        if self.bilm.word_cache is not None:
            self.bilm.word_cache = WordCache(self.bilm.word_cache.megabytes)

    def embed(self, sentences: Sequence[Sequence[str]], first: int = 0) -> np.ndarray:
        """
        Embed the sentences of a window.

        # Parameters

        sentences : lists of tokens.
        first : number of the first sentence in the text; matters where state is carried.

        # Returns

        The vectors of all tokens, one sentence after the other: `(tokens, layers, dim)` or, for one vector per token,
        `(tokens, dim)`; float32.
        """
        tokens = sum(map(len, sentences))
        vectors = np.empty(self.choice.shape(tokens, self.bilm.output_dim), dtype=np.float32)
        self.embed_into(vectors, sentences, first)
        return vectors

    def embed_into(self, vectors: np.ndarray, sentences: Sequence[Sequence[str]], first: int = 0) -> None:
        """
        Like `embed`, into an array that is there.

        # Parameters

        vectors : as `embed` returns them, in any order of memory.
        sentences, first : as `embed` takes them.
        """
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        starts = torch.from_numpy(np.cumsum(lengths) - lengths)
        if self.bilm.state != CARRIED:
            for places in self.plan.batches(lengths.tolist()):
                self._run(sentences, places, starts, vectors)
            return
        rows = self.plan.rows
        assert rows is not None
        for start, stop in rounds(first, len(sentences), rows):
            # A blank line has its boundaries, which move the state on.
            for within in self.plan.batches((lengths[start:stop] + 2).tolist()):
                places = within + start
                ran = torch.from_numpy((first + places) % rows)
                self.bilm.carried = self._carried_by_all(rows).select(ran)
                self._run(sentences, places, starts, vectors)
                self._keep(ran)

    def _run(
        self, sentences: Sequence[Sequence[str]], places: np.ndarray, starts: torch.Tensor, vectors: np.ndarray
    ) -> None:
        batch = [sentences[place] for place in places]
        with torch.no_grad():
            packed = self.bilm.run(self.to_ids(batch))
            taken, target = _inner(packed, starts[torch.from_numpy(places)])
            where = target.cpu().numpy()
            layers = [vectors] if vectors.ndim == 2 else list(vectors.transpose(1, 0, 2))
            for layer, values in zip(layers, self.choice.take(packed.layers, taken)):
                layer[where] = values.cpu().numpy()  # in one pass, where torch's index_copy_ makes two

    def _carried_by_all(self, rows: int) -> LstmState:
        if self.carried is None:
            self.carried = self.bilm.lstm.zero_state(rows, torch.empty(0))
        return self.carried

    def _keep(self, ran: torch.Tensor) -> None:
        new = self.bilm.carried
        assert new is not None and self.carried is not None
        self.carried.hidden.index_copy_(1, ran, new.hidden.cpu())
        self.carried.cell.index_copy_(1, ran, new.cell.cpu())
        self.bilm.reset_states()


def _inner(packed: PackedLayers, starts: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    Find the tokens that are no boundaries.

    # Parameters

    packed : a batch.
    starts : where the vectors of each row begin.

    # Returns

    Their places in the packed layers, and where their vectors go, `(tokens,)` each.
    """
    row, step = packed.packing.places
    taken = ((step > 0) & (step <= packed.lengths[row])).nonzero().squeeze(1)
    return taken, starts.to(row.device)[row[taken]] + step[taken] - 1
