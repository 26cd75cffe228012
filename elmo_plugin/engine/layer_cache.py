"""
The layers of a frozen biLM on disk: computed once, mixed on the fly in later epochs, runs, seeds and experiments.

    cache = LayerCache("cache")
    elmo = Elmo(bilm, cache=cache)     # or cache.run(bilm, ids) in place of bilm.run(ids)

A sentence is known by its ids and by the fingerprint of the biLM, so that one folder serves any number of biLMs and
a changed biLM never meets vectors of the old one. What is read is checked; what is damaged is computed again.
"""

import hashlib
import logging
import math
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Set, Union

import numpy as np
import torch

from elmo_plugin.engine.bilm import BiLm, PackedLayers
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.fingerprint import Fingerprint
from elmo_plugin.engine.generation import Entry, load_lmdb
from elmo_plugin.engine.layer_store import LayerStore, StoreFailed, StoreFull
from elmo_plugin.engine.layer_table import LayerTable
from elmo_plugin.engine.open_stores import open_store
from elmo_plugin.engine.packing import Packing
from elmo_plugin.engine.state import CARRIED

logger = logging.getLogger(__name__)

DTYPES = {"float16": torch.float16, "float32": torch.float32, "float64": torch.float64}

MAX_GIGABYTES = 16.0


class Counts(NamedTuple):
    """
    What a cache did, in sentences; one that comes several times in a batch counts once.

    # Parameters

    read : found.
    computed : not found.
    damaged : found, but not what was written; computed too.
    """

    read: int = 0
    computed: int = 0
    damaged: int = 0


class LayerCache:
    """
    A folder with the layers of sentences, for biLMs whose state is not carried.

    Several objects and several processes may use one folder at the same time. Copies and pickles hold the settings
    only. Where the folder cannot be made or written, or the disk is full, a warning says so once and everything is
    computed, or what is missing is.

    # Parameters

    folder : on a local disk; made if it does not exist.
    dtype : how layers are stored: "float16" (half the space, 3 to 4 digits), "float32" or "float64"; None for the
        dtype of the biLM's weights, which is exact. What is stored narrower than it was computed is rounded in the
        first epoch already, so that a run from the cache equals the run that filled it.
    max_gigabytes : size limit of the folder. To stay below it, files that no running process uses are deleted, the
        one whose last use lies longest ago first; where all are in use, new sentences are computed but not stored.

    # Raises

    `OptionsError` for a dtype or a size that does not exist, `FormatError` where the folder holds something else.
    """

    def __init__(
        self, folder: Union[str, Path], *, dtype: Optional[str] = None, max_gigabytes: float = MAX_GIGABYTES
    ) -> None:
        if dtype is not None and dtype not in DTYPES:
            raise OptionsError(f"dtype of the layer cache is {dtype!r}; choose one of {list(DTYPES)}, or none.")
        is_number = isinstance(max_gigabytes, (int, float)) and not isinstance(max_gigabytes, bool)
        if not is_number or not 0 < max_gigabytes < math.inf:
            raise OptionsError(
                f"max_gigabytes of the layer cache is {max_gigabytes!r}, expected a number above 0, not infinite."
            )
        self.folder = Path(folder)
        self.dtype = dtype
        self.max_gigabytes = max_gigabytes
        self._begin()
        self._opened()

    def _begin(self) -> None:
        self.counts = Counts()
        self._store: Optional[LayerStore] = None
        self._fingerprint = Fingerprint()
        self._is_readable = self._is_writable = True
        self._said: Set[str] = set()

    def __getstate__(self) -> Dict[str, Any]:
        return {"folder": self.folder, "dtype": self.dtype, "max_gigabytes": self.max_gigabytes}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def __repr__(self) -> str:
        return f"LayerCache({str(self.folder)!r}, dtype={self.dtype!r}, max_gigabytes={self.max_gigabytes})"

    def run(self, bilm: BiLm, ids: torch.Tensor) -> PackedLayers:
        """
        Return what `bilm.run(ids)` returns, from the cache as far as possible.

        A biLM that is being fine-tuned is run. So is one whose weights have changed: the vectors of other weights
        are other sentences to the cache.

        # Parameters

        bilm : with state "reset" or "warm".
        ids : as `BiLm.forward` takes them.

        # Raises

        `OptionsError` where the state is carried, and what `bilm.run` raises.
        """
        _check_state(bilm)
        if bilm.fine_tune:
            self._say("the biLM is being trained: it is run, and the layer cache %s waits", self.folder)
            return bilm.run(ids)
        store = self._opened()
        lengths = bilm.checked_lengths(ids)
        if store is None or not bool((lengths > 0).any()):
            return bilm.run(ids)
        sentences = _Sentences(ids, lengths)
        table = LayerTable(bilm, sentences.steps, DTYPES.get(self.dtype or ""))
        if not self._look_up(store, bilm, ids, sentences, table):
            return bilm.run(ids)
        steps = torch.where(lengths > 0, lengths + 2, lengths)
        packing = Packing(steps.tolist(), ids.device)
        layers = table.packed(packing, sentences.place_of_row, ids.device)
        return PackedLayers(layers=layers, packing=packing, lengths=lengths, words=ids.shape[1])

    def _look_up(
        self, store: LayerStore, bilm: BiLm, ids: torch.Tensor, sentences: "_Sentences", table: LayerTable
    ) -> bool:
        """Fill the table from the store, else from the biLM; whether its dtype can hold all of that."""
        fingerprint = hashlib.blake2b(self._fingerprint.of(bilm) + str(table.dtype).encode(), digest_size=32)
        keys = sentences.keys(fingerprint.digest())
        damaged = 0

        def take(place: int, value: memoryview) -> bool:
            nonlocal damaged
            is_sound = table.read(place, keys[place], value)
            damaged += not is_sound
            return is_sound

        found = store.read(fingerprint.hexdigest()[:32], keys, take)
        missing = [place for place, is_found in enumerate(found) if not is_found]
        if missing:
            rows = [sentences.rows[place] for place in missing]
            longest = max(sentences.steps[place] for place in missing) - 2
            if not table.fill(missing, bilm.run(ids[rows, :longest])):
                self._say(
                    "%s cannot hold some of these layers, whose values are too large for it: sentences with such "
                    "values are not cached. Use float32",
                    table.dtype,
                )
                return False
            if self._is_writable:
                entries = [(keys[place], table.entry(place, keys[place])) for place in missing]
                self._write(store, fingerprint.hexdigest()[:32], entries)
        self._count(len(keys), len(missing), damaged)
        return True

    def _write(self, store: LayerStore, fingerprint: str, entries: List[Entry]) -> None:
        try:
            store.write(fingerprint, entries, int(self.max_gigabytes * 1e9))
        except StoreFull as error:
            self._say(
                "the layer cache %s takes no new sentences: %s. They are computed each time; what it has is used. "
                "A larger max_gigabytes, another folder or a larger disk helps",
                self.folder,
                error,
            )
        except StoreFailed as error:
            self._is_writable = False
            self._say(
                "the layer cache %s cannot be written (%s): new sentences are computed each time; what it has is used",
                self.folder,
                error,
            )

    def _opened(self) -> Optional[LayerStore]:
        """The store, or None where there can be none."""
        if self._store is None and self._is_readable:
            load_lmdb()
            try:
                self._store = open_store(self.folder)
            except OSError as error:
                self._is_readable = False
                self._say(
                    "the layer cache %s cannot be made or written (%s): all sentences are computed each time",
                    self.folder,
                    error,
                )
        return self._store

    def _count(self, sentences: int, computed: int, damaged: int) -> None:
        counts = self.counts
        if damaged:
            self._say("the layer cache %s had a damaged sentence: it is computed and written again", self.folder)
        self.counts = Counts(counts.read + sentences - computed, counts.computed + computed, counts.damaged + damaged)

    def _say(self, message: str, *arguments: object) -> None:
        """Warn, once for each kind of trouble."""
        if message not in self._said:
            self._said.add(message)
            logger.warning(message + ".", *arguments)


def check_cacheable(bilm: BiLm) -> None:
    """Raise `OptionsError` where a biLM was not built for a cache."""
    _check_state(bilm)
    if bilm.fine_tune:
        raise OptionsError(
            "the biLM is to be fine-tuned, so that its layers change with every step and cannot be cached. Leave out "
            "the cache, or fine_tune."
        )


def _check_state(bilm: BiLm) -> None:
    """Raise `OptionsError` where a biLM's vectors depend on more than the sentence."""
    if bilm.state == CARRIED:
        raise OptionsError(
            f"the biLM has state {bilm.state!r}: the vectors of a sentence depend on the batches before it, so that "
            'they cannot be cached. Use state "reset" or "warm".'
        )


class _Sentences:
    """
    The different sentences of a batch, in the order of their first rows.

    `rows` are those rows, `steps` their words with boundaries, `place_of_row` the sentence of each row of the batch,
    -1 for a row without words.
    """

    def __init__(self, ids: torch.Tensor, lengths: torch.Tensor) -> None:
        # The ids were checked, so that they fit.
        narrow = ids.to(torch.int16 if ids.dim() == 3 else torch.int32).cpu().contiguous().numpy()
        self.rows: List[int] = []
        self.steps: List[int] = []
        self.place_of_row = np.full(len(narrow), -1, dtype=np.int64)
        self._content: List[bytes] = []
        known: Dict[bytes, int] = {}
        for row, length in enumerate(lengths.tolist()):
            if length == 0:
                continue
            content = narrow[row, :length].tobytes()
            place = known.setdefault(content, len(known))
            if place == len(self.rows):
                self.rows.append(row)
                self.steps.append(length + 2)
                self._content.append(content)
            self.place_of_row[row] = place

    def keys(self, fingerprint: bytes) -> List[bytes]:
        """The key of each sentence, 16 bytes."""
        return [hashlib.blake2b(content, key=fingerprint, digest_size=16).digest() for content in self._content]
