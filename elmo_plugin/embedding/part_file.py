"""
A finished part of a run as one file: a zip archive of arrays, whose checksums tell whether it is what was written.
"""

import errno
import io
import json
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import torch

from elmo_plugin.embedding.durable import TEMPORARY, let_go, put_in_place
from elmo_plugin.engine.lstm import LstmState

_SUMMARY = "part.json"
_STATE = ("state/hidden.npy", "state/cell.npy")
_VERSION = 1

# In larger pieces than the caches hold, an array comes from memory once for the checksum and once for the write; and
# Linux keeps large writes in large pages, for which memory is slower to get.
_BYTES_AT_ONCE = 1 << 18

#: of a zip entry, so that equal parts are equal files.
DATE = (1980, 1, 1, 0, 0, 0)


class _Entries(NamedTuple):
    lengths: str = "lengths.npy"
    text: str = "text"
    vectors: str = "vectors.npy"


#: of each window, behind its number and a slash
ENTRIES = _Entries()


class WindowVectors(NamedTuple):
    """
    Lines and the vectors of their tokens.

    # Parameters

    first : number of the first line.
    texts : of each line, without the white space at its ends.
    lengths : tokens of each line, `(lines,)` int64.
    vectors : of all tokens, `(tokens, layers, dim)` or `(tokens, dim)`.
    """

    first: int
    texts: List[str]
    lengths: np.ndarray
    vectors: np.ndarray

    def lines(self) -> Iterator[Tuple[int, str, np.ndarray]]:
        """Yield number, text and vectors of each line, the vectors as `(layers, tokens, dim)` or `(tokens, dim)`."""
        stop = 0
        for index, (text, length) in enumerate(zip(self.texts, self.lengths.tolist())):
            start, stop = stop, stop + length
            vectors = self.vectors[start:stop]
            yield self.first + index, text, vectors.transpose(1, 0, 2) if vectors.ndim == 3 else vectors


class PartSummary(NamedTuple):
    """
    What a part says about itself.

    # Parameters

    number : of the part, from 0.
    lines, tokens : of the text up to the end of the part.
    digest : of the text up to there.
    is_last : whether the text ended there.
    windows : how many are in the part.
    """

    number: int
    lines: int
    tokens: int
    digest: str
    is_last: bool
    windows: int


class PartWriter:
    """
    Writes one part.

    # Parameters

    path : where the file will be.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(path.name + TEMPORARY)
        self._file = open(self._temporary, "w+b")
        self._archive = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)
        self._windows = 0

    def add(self, window: WindowVectors) -> None:
        """Append a window."""
        lengths, text, vectors = (f"{self._windows}/{name}" for name in ENTRIES)
        write_array(self._archive, lengths, window.lengths)
        self._archive.writestr(zipfile.ZipInfo(text, DATE), json.dumps([window.first, window.texts]))
        write_array(self._archive, vectors, window.vectors)
        let_go(self._file)
        self._windows += 1

    def commit(self, summary: PartSummary, state: Optional[LstmState]) -> None:
        """Put the file in its place."""
        if state is not None:
            for name, tensor in zip(_STATE, (state.hidden, state.cell)):
                write_array(self._archive, name, tensor.numpy())
        content: Dict[str, Any] = {"version": _VERSION, **summary._replace(windows=self._windows)._asdict()}
        self._archive.writestr(zipfile.ZipInfo(_SUMMARY, DATE), json.dumps(content))
        self._archive.close()
        self._file.close()
        put_in_place(self._temporary, self._path)

    def abandon(self) -> None:
        """Close the file without giving it its name."""
        with self._file:
            self._archive.close()


def read_summary(path: Path, is_checked: bool = True) -> Optional[PartSummary]:
    """
    Read what a part says about itself.

    # Parameters

    is_checked : compare the content of the whole file with its checksums.

    # Returns

    None where the file is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if is_checked and archive.testzip() is not None:
                return None
            content = json.loads(archive.read(_SUMMARY))
            if content.pop("version") != _VERSION:
                return None
            return PartSummary(**content)
    except Exception as error:
        if not is_damage(error):
            raise
        return None


def is_damage(error: Exception) -> bool:
    """
    Whether an error is one that a damaged zip archive lets the libraries raise: anything, since a flipped bit may ask
    for a password, for another compression or for a place in front of the file. The rest is of memory and disk.
    """
    if isinstance(error, OSError):
        return error.errno == errno.EINVAL
    return not isinstance(error, MemoryError)


def read_windows(path: Path, summary: PartSummary) -> Iterator[WindowVectors]:
    """Yield the windows of a part."""
    with zipfile.ZipFile(path) as archive:
        for index in range(summary.windows):
            lengths, text, vectors = (f"{index}/{name}" for name in ENTRIES)
            first, texts = json.loads(archive.read(text))
            yield WindowVectors(first, texts, read_array(archive, lengths), read_array(archive, vectors))


def read_state(path: Path) -> Optional[LstmState]:
    """Read the state behind a part; None where none was carried."""
    with zipfile.ZipFile(path) as archive:
        if _STATE[0] not in archive.namelist():
            return None
        hidden, cell = (torch.from_numpy(read_array(archive, name)) for name in _STATE)
    return LstmState(hidden, cell)


def write_array(archive: zipfile.ZipFile, name: str, values: np.ndarray) -> None:
    """Add an array to a zip archive in NumPy's format."""
    header = io.BytesIO()
    about = {"descr": np.lib.format.dtype_to_descr(values.dtype), "fortran_order": False, "shape": values.shape}
    np.lib.format.write_array_header_1_0(header, about)
    with archive.open(zipfile.ZipInfo(name, DATE), "w", force_zip64=True) as target:
        target.write(header.getvalue())
        for piece in pieces(values):
            target.write(piece)


def pieces(values: np.ndarray) -> Iterator[memoryview]:
    """
    Yield the bytes of an array in the order of its indices, some at a time.

    # Parameters

    values : copied where it is small, or where not even its entries along the first axis are contiguous.
    """
    is_one = values.flags.c_contiguous or values.nbytes <= _BYTES_AT_ONCE  # a copy costs less than two writes more
    for block in [values] if is_one else values:
        flat = np.ascontiguousarray(block).reshape(-1)
        count = max(1, _BYTES_AT_ONCE // flat.itemsize)
        for start in range(0, len(flat), count):
            yield flat[start : start + count].view(np.uint8).data


def read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Read an array that `write_array` wrote."""
    with archive.open(name) as source:
        return np.lib.format.read_array(source, allow_pickle=False)
