"""Vectors of sentences for several people at once."""

import threading
from collections import OrderedDict
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
from overrides import overrides

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.state import CARRIED

#: tokens that are computed before somebody else gets a turn
_TOKENS_IN_A_TURN = 512
#: of the vectors that are remembered
_BYTES = 128 << 20


class SharedEmbedder(SentenceEmbedder):
    """
    All layers of sentences, which threads may ask for at the same time.

    The biLM runs in one thread at a time, in turns that are short whatever is asked for. Sentences are remembered, so
    that the views of a page, and edits of one sentence of a text, do not compute them again.

    # Parameters

    bilm : frozen, with a state that makes a sentence independent of others.
    vocabulary : the words of a word-level biLM.
    max_bytes : of the vectors that are remembered.

    # Raises

    `OptionsError` where state is carried.
    """

    def __init__(self, bilm: BiLm, vocabulary: Optional[List[str]] = None, max_bytes: int = _BYTES) -> None:
        if bilm.state == CARRIED:
            raise OptionsError(
                "state is 'carried', with which a sentence has no vectors of its own. Use 'reset' or 'warm'."
            )
        super().__init__(bilm, vocabulary, "all")
        #: held by whoever runs the biLM
        self.turn = threading.Lock()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._known: OrderedDict[Tuple[str, ...], np.ndarray] = OrderedDict()
        self._known_lock = threading.Lock()

    @overrides
    def embed(self, sentences: Sequence[Sequence[str]], first: int = 0) -> np.ndarray:
        found = self._recall(map(tuple, sentences))
        missing = [sentence for sentence in found if found[sentence] is None]
        for turn in _turns(missing):
            with self.turn:
                vectors = super().embed(turn)
            ends = np.cumsum([len(sentence) for sentence in turn])
            # Copies, so that to forget one sentence frees its memory.
            found.update((sentence, part.copy()) for sentence, part in zip(turn, np.split(vectors, ends[:-1])))
        self._remember({sentence: found[sentence] for sentence in missing})
        if not sentences:
            return np.zeros((0, self.bilm.num_layers, self.bilm.output_dim), dtype=np.float32)
        return np.concatenate([found[tuple(sentence)] for sentence in sentences])

    def _recall(self, sentences: Iterator[Tuple[str, ...]]) -> Dict[Tuple[str, ...], np.ndarray]:
        found: Dict[Tuple[str, ...], Optional[np.ndarray]] = {}
        with self._known_lock:
            for sentence in sentences:
                found[sentence] = self._known.get(sentence)
                if found[sentence] is not None:
                    self._known.move_to_end(sentence)
        return found  # type: ignore[return-value]

    def _remember(self, computed: Dict[Tuple[str, ...], np.ndarray]) -> None:
        with self._known_lock:
            for sentence, vectors in computed.items():
                if sentence not in self._known:
                    self._known[sentence] = vectors
                    self._bytes += vectors.nbytes
            while self._bytes > self._max_bytes:
                self._bytes -= self._known.popitem(last=False)[1].nbytes


def _turns(sentences: Sequence[Tuple[str, ...]]) -> Iterator[List[Tuple[str, ...]]]:
    turn: List[Tuple[str, ...]] = []
    tokens = 0
    for sentence in sentences:
        if turn and tokens + len(sentence) > _TOKENS_IN_A_TURN:
            yield turn
            turn, tokens = [], 0
        turn.append(sentence)
        tokens += len(sentence)
    if turn:
        yield turn
