"""The tensors of one TensorFlow checkpoint."""

import math
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from elmo_plugin.engine.errors import FormatError, WeightFileError
from elmo_plugin.formats.tensor_bundle.crc32c import masked_crc32c
from elmo_plugin.formats.tensor_bundle.messages import fields
from elmo_plugin.formats.tensor_bundle.table import read_table

# The index of the largest biLM has some kilobytes.
MAX_INDEX_SIZE = 1 << 26

# TensorFlow's numbers of its types; the others are names in messages only
_FLOATS = {1: "f4", 2: "f8", 19: "f2"}
_OTHERS = {3: "int32", 7: "string", 9: "int64", 10: "bool", 14: "bfloat16"}

_SUFFIX = ".index"


class Entry(NamedTuple):
    """
    Where a tensor is.

    # Parameters

    dtype : TensorFlow's number of the type.
    shape : of the tensor.
    shard : which data file.
    offset, size : in bytes, in that file.
    checksum : masked CRC-32C of these bytes.
    is_sliced : stored in several pieces, under other keys.
    """

    dtype: int
    shape: Tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    is_sliced: bool


class Bundle:
    """
    A checkpoint on disk.

    # Parameters

    index_file : the file `x.index`; the tensors are in `x.data-...` beside it.

    # Raises

    `FormatError` where it is damaged or something else, `WeightFileError` where a file cannot be read.
    """

    def __init__(self, index_file: Path) -> None:
        self.path = index_file
        try:
            if index_file.stat().st_size > MAX_INDEX_SIZE:
                raise self._damage(f"it has more than {MAX_INDEX_SIZE} bytes")
            content = index_file.read_bytes()
        except OSError as error:
            raise WeightFileError(f"{index_file}: cannot be read ({error.strerror}).") from error
        try:
            table = read_table(content)
            self._shards, self._byte_order = _header(table.pop(b"", None))
            self._entries = {key.decode("utf-8"): _entry(value) for key, value in table.items()}
        except FormatError:
            raise
        except ValueError as error:
            raise self._damage(str(error)) from error

    @property
    def shapes(self) -> Dict[str, Tuple[int, ...]]:
        """Name to shape of every tensor."""
        return {name: entry.shape for name, entry in self._entries.items()}

    def missing_files(self) -> List[Path]:
        """The data files that should be there and are not."""
        return [path for path in map(self._data_file, range(self._shards)) if not path.is_file()]

    def read(self, name: str) -> np.ndarray:
        """
        Read a tensor and check it against its checksum.

        # Parameters

        name : one of `shapes`.

        # Returns

        A float32 array of its own.

        # Raises

        `FormatError` where the numbers are damaged or cut off, `WeightFileError` where they are no floating-point
        numbers or the file cannot be read.
        """
        entry = self._entries[name]
        if entry.dtype not in _FLOATS:
            found = _OTHERS.get(entry.dtype, f"TensorFlow's type {entry.dtype}")
            raise WeightFileError(f"{self.path}: tensor {name!r} holds {found}, expected float32 as in every biLM.")
        if entry.is_sliced:
            raise WeightFileError(
                f"{self.path}: tensor {name!r} is stored in pieces (a partitioned variable), which bilm-tf does not do "
                "and this reader does not join. Save the checkpoint again without a partitioner."
            )
        dtype = np.dtype(self._byte_order + _FLOATS[entry.dtype])
        if math.prod(entry.shape) * dtype.itemsize != entry.size:
            raise self._damage(f"tensor {name!r} of shape {list(entry.shape)} has {entry.size} bytes")
        data = self._bytes(name, entry)
        if masked_crc32c(data) != entry.checksum:
            raise FormatError(
                f"{self._data_file(entry.shard)}: the checksum of tensor {name!r} is wrong; the file is damaged, or "
                f"belongs to another checkpoint than {self.path.name}. Copy both again."
            )
        return data.view(dtype).reshape(entry.shape).astype(np.float32, copy=False)

    def _bytes(self, name: str, entry: Entry) -> np.ndarray:
        path = self._data_file(entry.shard)
        try:
            size = path.stat().st_size
            if entry.offset + entry.size > size:
                raise FormatError(
                    f"{path}: has {size} bytes, but tensor {name!r} ends at byte {entry.offset + entry.size}; the file "
                    f"is cut off, or belongs to another checkpoint than {self.path.name}. Copy both again."
                )
            return np.fromfile(path, np.uint8, entry.size, offset=entry.offset)
        except OSError as error:
            raise WeightFileError(
                f"{path}: cannot be read ({error.strerror}); it holds tensor {name!r} of {self.path.name}. A "
                "checkpoint is several files: copy them all."
            ) from error

    def _data_file(self, shard: int) -> Path:
        stem = self.path.name[: -len(_SUFFIX)] if self.path.name.endswith(_SUFFIX) else self.path.name
        return self.path.with_name(f"{stem}.data-{shard:05d}-of-{self._shards:05d}")

    def _damage(self, found: str) -> FormatError:
        return FormatError(
            f"{self.path}: cannot be read as the index of a TensorFlow checkpoint: {found}. If it was copied or "
            "downloaded, compare its size with the original's and fetch it again."
        )


def _header(message: Optional[bytes]) -> Tuple[int, str]:
    """The number of data files, and numpy's sign for the order of bytes in them."""
    if message is None:
        raise ValueError("a table, but without the header of a checkpoint")
    header = {number: value for number, value in fields(message) if isinstance(value, int)}
    shards, is_big = header.get(1, 0), header.get(2, 0)
    if not 1 <= shards <= 99999 or is_big not in (0, 1):
        raise ValueError(f"its header names {shards} data files and byte order {is_big}")
    return shards, ">" if is_big else "<"


def _entry(message: bytes) -> Entry:
    numbers: Dict[int, Any] = dict.fromkeys(range(1, 7), 0)
    shape: Tuple[int, ...] = ()
    is_sliced = False
    for number, value in fields(message):
        if number == 2 and isinstance(value, bytes):
            shape = _shape(value)
        elif number == 7:
            is_sliced = True
        elif isinstance(value, int):
            numbers[number] = value
    return Entry(numbers[1], shape, numbers[3], numbers[4], numbers[5], numbers[6], is_sliced)


def _shape(message: bytes) -> Tuple[int, ...]:
    sizes = []
    for number, value in fields(message):
        if number != 2 or not isinstance(value, bytes):
            raise ValueError("a tensor of unknown shape")
        size = dict(fields(value)).get(1, 0)
        if not isinstance(size, int) or size >= 1 << 40:  # a negative number is a large one here
            raise ValueError(f"a tensor with a side of {size!r}")
        sizes.append(size)
    return tuple(sizes)
