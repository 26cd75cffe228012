"""
Two tensors, whatever the number of lines: all vectors, and where those of each line begin.

    with safe_open(path, "np") as file:
        start, stop = file.get_slice("offsets")[line : line + 2]
        vectors = file.get_slice("vectors")[start:stop]  # (tokens, layers, dim) or (tokens, dim)

A tensor for each line would be at home in hdf5; the header of a safetensors file ends at 100 MB, about a million names.
"""

import json
import struct
from pathlib import Path
from typing import IO, List, Tuple

import numpy as np

from elmo_plugin.embedding.part_file import WindowVectors, pieces
from elmo_plugin.embedding.writers.base import Description, Keys, VectorWriter

# The header stands first and names sizes that are known last: room is left for it, and filled up with spaces.
_HEADER_BYTES = 8192


class SafetensorsWriter(VectorWriter):
    """`vectors` `(tokens, ...)` float32, and `offsets` `(lines + 1,)` int64. The format "safetensors"."""

    name = "safetensors"

    def __init__(self, path: Path, shape: Tuple[int, ...], keys: Keys, is_repeatable: bool) -> None:
        super().__init__(path, shape, keys, is_repeatable)
        self._file: IO[bytes] = open(path, "wb")
        self._file.write(b" " * (8 + _HEADER_BYTES))
        self._lengths: List[np.ndarray] = []

    def add(self, window: WindowVectors) -> None:
        self._lengths.append(window.lengths)
        for piece in pieces(window.vectors.astype("<f4", copy=False)):
            self._file.write(piece)

    def close(self, description: Description) -> None:
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths]).cumsum(dtype="<i8")
        tokens = int(offsets[-1])
        vector_bytes = tokens * 4 * int(np.prod(self.shape))
        self._file.write(offsets.tobytes())
        header = {
            "__metadata__": {name: str(value) for name, value in description.items()},
            "vectors": {"dtype": "F32", "shape": [tokens, *self.shape], "data_offsets": [0, vector_bytes]},
            "offsets": {
                "dtype": "I64",
                "shape": [len(offsets)],
                "data_offsets": [vector_bytes, vector_bytes + offsets.nbytes],
            },
        }
        encoded = json.dumps(header).encode("utf-8")
        assert len(encoded) <= _HEADER_BYTES, len(encoded)
        self._file.seek(0)
        self._file.write(struct.pack("<Q", _HEADER_BYTES) + encoded.ljust(_HEADER_BYTES))
        self._file.close()

    def abandon(self) -> None:
        self._file.close()

    @staticmethod
    def is_mine(begin: bytes) -> bool:
        return begin == struct.pack("<Q", _HEADER_BYTES)

    @staticmethod
    def describe(path: Path) -> Description:
        with open(path, "rb") as file:
            file.seek(8)
            try:
                found = json.loads(file.read(_HEADER_BYTES))["__metadata__"]
            except (ValueError, KeyError):
                return {}
        return {name: int(value) if value.isdecimal() else value for name, value in found.items()}
