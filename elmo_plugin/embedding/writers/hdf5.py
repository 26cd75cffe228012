"""
AllenNLP 0.9's layout: a dataset for each line, under its number as a string.

`sentence_to_index` is a JSON map from the sentences to the numbers (of the last line that holds the sentence). The
description is in the attributes of the root, which readers of the old layout do not look at.
"""

import io
import json
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import numpy as np

from elmo_plugin.embedding.part_file import WindowVectors, pieces
from elmo_plugin.embedding.writers.base import Description, Keys, VectorWriter
from elmo_plugin.engine.errors import FormatError

SENTENCE_INDEX = "sentence_to_index"

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ESCAPE = str.maketrans({"\\": "\\x5c", "/": "\\x2f", "\0": "\\x00"})


def dataset_name(sentence: str) -> str:
    """
    Say under which name `--use-sentence-keys` stores a sentence: under itself, in nearly all cases.

    hdf5 reads a slash as a path, ends a name at a NUL, takes a single point for the group itself, and has no empty
    names. So a slash is written `\\x2f`, a NUL `\\x00`, and, to keep them apart, a backslash `\\x5c`; a sentence that
    is a point is `\\x2e`, and one without anything is `\\x`.
    """
    if sentence in ("", "."):
        return "\\x2e" if sentence else "\\x"
    return sentence.translate(_ESCAPE)


class _Sink(io.RawIOBase):
    """
    A file for HDF5 to write to, on which no write fails.

    The library crashes at the end of the process where one did. So the error is kept for `check`, and what comes behind
    it is dropped.
    """

    def __init__(self, path: Path) -> None:
        self._file = open(path, "w+b", buffering=0)
        self._error: Optional[OSError] = None

    def check(self) -> None:
        """Raise what went wrong so far."""
        if self._error is not None:
            raise self._error

    def write(self, content: Any) -> int:
        written = 0
        while self._error is None and written < len(content):
            try:
                written += self._file.write(content[written:])
            except OSError as error:
                self._error = error
        return len(content)

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer) or 0

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def truncate(self, size: Optional[int] = None) -> int:
        return size or 0 if self._error is not None else self._file.truncate(size)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self._file.close()
        super().close()


class Hdf5Writer(VectorWriter):
    """Datasets `(layers, tokens, dim)` or `(tokens, dim)`, float32. The format "hdf5"."""

    name = "hdf5"
    layers_first = True

    def __init__(self, path: Path, shape: Tuple[int, ...], keys: Keys, is_repeatable: bool) -> None:
        super().__init__(path, shape, keys, is_repeatable)
        import h5py

        self._h5py: Any = h5py
        # The oldest layout that holds this: what read the files of AllenNLP 0.9 reads these.
        self._sink = _Sink(path)
        self._file: Any = h5py.File(self._sink, "w", libver="earliest")
        self._creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        self._creation.set_obj_track_times(False)
        # A dataset's place is known when it is made, and nobody but `_write` writes there.
        self._creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        self._creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        self._utf8_names = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        self._utf8_names.set_char_encoding(h5py.h5t.CSET_UTF8)
        self._index: Optional[Dict[str, str]] = {} if keys.with_index and not keys.by_sentence else None

    @classmethod
    def check(cls, keys: Keys) -> None:
        """Nothing is refused."""

    def add(self, window: WindowVectors) -> None:
        for number, text, vectors in window.lines():
            name = dataset_name(text) if self.keys.by_sentence else str(number)
            encoded = name.encode("utf-8")
            if self.keys.by_sentence and encoded in self._file.id:
                self._check_repeated(number, text)
                continue
            self._write(encoded, vectors.astype("<f4", copy=False))
            if self._index is not None:
                self._index[text] = name
        self._sink.check()

    def _write(self, name: bytes, values: np.ndarray) -> None:
        # What h5py's create_dataset does, names included, but the numbers do not go through the library: half the time.
        low = self._h5py
        space = low.h5s.create_simple(values.shape)
        links = None if name.isascii() else self._utf8_names
        dataset = low.h5d.create(self._file.id, name, low.h5t.IEEE_F32LE, space, self._creation, links)
        if values.size:
            self._sink.seek(dataset.get_offset())
            for piece in pieces(values):
                self._sink.write(piece)

    def _check_repeated(self, number: int, text: str) -> None:
        """A sentence that comes again is stored once, unless its vectors depend on where it stands."""
        if not self.is_repeatable:
            raise FormatError(
                f"line {number + 1}: the sentence {text[:60]!r} comes again, and with carried state its vectors are "
                'others; there is one name for both. Use state "reset" or "warm", or leave out --use-sentence-keys.'
            )

    def close(self, description: Description) -> None:
        if self._index is not None:
            text_type = self._h5py.special_dtype(vlen=str)
            dataset = self._file.create_dataset(SENTENCE_INDEX, (1,), dtype=text_type, track_times=False)
            dataset[0] = json.dumps(self._index)
        for name, value in description.items():
            self._file.attrs[name] = value
        self._file.close()
        self._sink.check()
        self._sink.close()

    def abandon(self) -> None:
        self._file.close()
        self._sink.close()

    @staticmethod
    def is_mine(begin: bytes) -> bool:
        return begin == _SIGNATURE

    @staticmethod
    def describe(path: Path) -> Description:
        import h5py

        try:
            with h5py.File(path, "r") as file:
                return {name: value if isinstance(value, str) else int(value) for name, value in file.attrs.items()}
        except (OSError, TypeError, ValueError):
            return {}
