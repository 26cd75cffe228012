"""
The vectors of words of a frozen token encoder, kept across batches: text repeats itself, and the character CNN is most
of the work of a small biLM.
"""

import math
import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.streams import StreamOrder

#: What a cache holds unless said otherwise: 85,000 words of the published small biLM, 28,000 of the original one.
MEGABYTES = 64.0

# What Python keeps of a word beside its vector: the row of its ids as bytes, and its place among the others.
_BYTES_PER_KEY = 280


class WordCache:
    """
    A bounded memory of the vectors of words; the word whose last use lies longest ago makes room.

    Words are told apart by their whole ids. What is kept is bit for bit what was computed when the word first came. The
    last digits of that depend, as without a cache, on the words that were computed beside it.

    Everything is forgotten when the weights move or change, as far as `Derived` notices. Copies and pickles hold the
    size only. Where two threads run one biLM, the second one computes its words without the cache.

    # Parameters

    megabytes : its size, above 0.

    # Raises

    `OptionsError` for another size.
    """

    def __init__(self, megabytes: float = MEGABYTES) -> None:
        if isinstance(megabytes, bool) or not isinstance(megabytes, (int, float)) or not 0 < megabytes < math.inf:
            raise OptionsError(f"size of the word cache is {megabytes!r}, expected megabytes above 0, not infinite.")
        self.megabytes = megabytes
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._order = StreamOrder()
        self._words: Derived[_Words] = Derived()

    def __getstate__(self) -> Dict[str, Any]:
        return {"megabytes": self.megabytes}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def __repr__(self) -> str:
        return f"WordCache(megabytes={self.megabytes})"

    def vectors(
        self, ids: torch.Tensor, encode: Callable[[torch.Tensor], torch.Tensor], weights: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """
        Return what `encode(ids)` returns, from the cache as far as possible. Without gradients.

        # Parameters

        ids : of distinct words, `(words, characters)`, whole numbers.
        encode : ids to vectors, `(words, projection)`.
        weights : what decides the vectors beside the ids.
        """
        # Nobody waits, so that a process may fork at any time.
        if not self._lock.acquire(blocking=False):
            return encode(ids)
        try:
            # A table that was made in inference mode could not be written outside of it.
            with torch.inference_mode(False), torch.no_grad(), self._order.turn(ids.device):
                return self._words.get(self._no_words, weights).vectors(ids, encode)
        finally:
            self._lock.release()

    def _no_words(self) -> "_Words":
        return _Words(self.megabytes)


class _Words:
    """The words of one state of the weights."""

    def __init__(self, megabytes: float) -> None:
        self._bytes = int(megabytes * 1e6)
        self._slots: OrderedDict[bytes, int] = OrderedDict()  # the last used word at the end
        self._table: Optional[torch.Tensor] = None  # (capacity, projection)

    def vectors(self, ids: torch.Tensor, encode: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        keys = _keys(ids)
        slots = [self._slots.get(key) for key in keys]
        known = [place for place, slot in enumerate(slots) if slot is not None]
        unknown = [place for place, slot in enumerate(slots) if slot is None]
        for place in known:
            self._slots.move_to_end(keys[place])
        if self._table is not None and not unknown:
            return self._table[slots]
        computed = encode(ids[unknown])
        vectors = computed.new_empty((len(keys), computed.shape[1]))
        vectors[unknown] = computed
        if self._table is None:
            self._table = self._make_table(vectors)
        elif known:
            vectors[known] = self._table[[slots[place] for place in known]]
        self._keep([keys[place] for place in unknown], computed)
        return vectors

    def _make_table(self, vectors: torch.Tensor) -> torch.Tensor:
        capacity = self._bytes // (vectors.shape[1] * vectors.element_size() + _BYTES_PER_KEY)
        return vectors.new_empty((max(1, capacity), vectors.shape[1]))

    def _keep(self, keys: List[bytes], vectors: torch.Tensor) -> None:
        """Give each word a slot: a new one, or that of the word that was not used for longest."""
        assert self._table is not None
        capacity = len(self._table)
        slots = []
        try:
            for key in keys[:capacity]:
                slots.append(len(self._slots) if len(self._slots) < capacity else self._slots.popitem(last=False)[1])
                self._slots[key] = slots[-1]
            self._table[slots] = vectors[:capacity]
        except BaseException:  # out of memory, or interrupted: no word may stay that has another one's vector
            self._slots.clear()
            raise


def _keys(ids: torch.Tensor) -> List[bytes]:
    """The whole ids of each word; in two bytes each where they fit."""
    narrow = ids.to(torch.int16)
    whole = (narrow if bool((narrow == ids).all()) else ids).cpu().contiguous().numpy()
    content, size = whole.tobytes(), whole.itemsize * whole.shape[1]
    return [content[start : start + size] for start in range(0, len(content), size)]
