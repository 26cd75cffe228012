"""
A folder of parts, as `PartsTarget` names it, read back: the vectors stay on the disk until they are looked at.

Each part is a file of windows, and a window holds the vectors of its tokens layer by layer in one piece, uncompressed:
a layer of it is mapped into memory as it stands.
"""

import bisect
import json
import struct
import zipfile
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Iterator, List, NamedTuple, Tuple

import numpy as np

from elmo_plugin.embedding.part_file import ENTRIES, is_damage, read_array, read_summary
from elmo_plugin.embedding.targets import PartsTarget
from elmo_plugin.embedding.writers import Description
from elmo_plugin.engine.errors import FormatError

_LOCAL_HEADER = struct.Struct("<26xHH")
_WINDOWS_OF_TEXT = 8
# what the description of a folder says
_NAMES = ("parts", "num_layers", "dim", "dtype", "tokens")


class Block(NamedTuple):
    """
    Where the vectors of a window are.

    # Parameters

    path : the part.
    window : its number in the part.
    part : the part's number.
    first : number of the window's first token in the whole text.
    tokens : in the window.
    offset : of the vectors in the file, in bytes.
    shape : of the vectors, `(layers, tokens, dim)`.
    dtype : of the vectors.
    """

    path: Path
    window: int
    part: int
    first: int
    tokens: int
    offset: int
    shape: Tuple[int, ...]
    dtype: np.dtype

    def vectors(self, layer: int) -> np.ndarray:
        """Map the vectors of a layer, `(tokens, dim)`."""
        whole = np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)
        return np.asarray(whole[layer])


class Place(NamedTuple):
    """
    Where a token is.

    # Parameters

    line : of the text, from 0.
    tokens : of that line.
    position : of the token among them.
    """

    line: int
    tokens: List[str]
    position: int


class PartsFolder:
    """
    The vectors of a text.

    # Parameters

    path : the folder.

    # Raises

    `FormatError` where it is none, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.description: Description = PartsTarget(path).description()
        if not self.description:
            raise FormatError(f"{path}: not a folder of vectors, or one that was not finished.")
        missing = [name for name in _NAMES if name not in self.description]
        if missing:
            raise FormatError(f"{path}: its description has no {missing}, expected that of vectors. Build it again.")
        self.blocks = list(_blocks(path, self.description))
        if self.tokens != self.description["tokens"]:
            raise FormatError(
                f"{path}: its parts hold {self.tokens} tokens, expected {self.description['tokens']}. Build it again."
            )
        self._firsts = [block.first for block in self.blocks]
        self._text_of = lru_cache(maxsize=_WINDOWS_OF_TEXT)(_read_text)

    @property
    def tokens(self) -> int:
        """Number of all tokens."""
        return self.blocks[-1].first + self.blocks[-1].tokens if self.blocks else 0

    def block_of(self, token: int) -> Block:
        """The block of a token, which is named by its number in the text."""
        return self.blocks[bisect.bisect_right(self._firsts, token) - 1]

    def place(self, token: int) -> Place:
        """The line and the position of a token."""
        block = self.block_of(token)
        first, texts, ends = self._text_of(block.path, block.window)
        inside = token - block.first
        line = int(np.searchsorted(ends, inside, side="right"))
        start = int(ends[line - 1]) if line else 0
        return Place(first + line, texts[line].split(), inside - start)

    def lines(self, block: Block) -> List[List[str]]:
        """The tokens of the lines of a block."""
        return [text.split() for text in self._text_of(block.path, block.window)[1]]

    def gather(self, layer: int, tokens: np.ndarray) -> np.ndarray:
        """
        Read vectors of single tokens.

        # Parameters

        tokens : their numbers, `(n,)` int64, in any order.

        # Returns

        `(n, dim)` float32.
        """
        vectors = np.empty((len(tokens), int(self.description["dim"])), dtype=np.float32)
        order = np.argsort(tokens, kind="stable")
        bounds = np.searchsorted(tokens[order], [*self._firsts, self.tokens])
        for block, start, stop in zip(self.blocks, bounds[:-1], bounds[1:]):
            if stop > start:
                places = order[start:stop]
                vectors[places] = block.vectors(layer)[tokens[places] - block.first]
        return vectors


def _blocks(folder: Path, description: Description) -> Iterator[Block]:
    parts = int(description["parts"])
    expected = int(description["num_layers"]), int(description["dim"]), description["dtype"]
    first = 0
    for number in range(parts):
        path = folder / f"{number:08d}.part"
        summary = read_summary(path, is_checked=False) if path.is_file() else None
        if summary is None:
            raise FormatError(f"{path}: missing or damaged, expected part {number + 1} of {parts}. Build it again.")
        with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
            for window in range(summary.windows):
                with _damage_named(path, window):
                    shape, dtype, offset = _array_in(archive, file, f"{window}/{ENTRIES.vectors}")
                    if (shape[0], shape[2], str(dtype)) != expected:
                        raise ValueError(f"vectors {shape} of {dtype}, where the description says {expected}")
                if shape[1]:
                    yield Block(path, window, number, first, shape[1], offset, shape, dtype)
                first += shape[1]


@contextmanager
def _damage_named(path: Path, window: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_damage(error):
            raise
        raise FormatError(f"{path}: damaged ({error}), expected window {window} of a part. Build it again.") from error


def _array_in(archive: zipfile.ZipFile, file: IO[bytes], name: str) -> Tuple[Tuple[int, ...], np.dtype, int]:
    """Shape, dtype and place of an array that is stored uncompressed in a zip archive."""
    entry = archive.getinfo(name)
    file.seek(entry.header_offset)
    name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    file.seek(name_length + extra_length, 1)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"{name}: version {version}, expected (1, 0)")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if len(shape) != 3 or is_fortran:
        raise ValueError(f"{name}: shape {shape}, expected (layers, tokens, dim) in rows")
    return shape, dtype, file.tell()


def _read_text(path: Path, window: int) -> Tuple[int, List[str], np.ndarray]:
    """First line, texts, and behind how many tokens each text ends."""
    with _damage_named(path, window), zipfile.ZipFile(path) as archive:
        first, texts = json.loads(archive.read(f"{window}/{ENTRIES.text}"))
        lengths = read_array(archive, f"{window}/{ENTRIES.lengths}")
    return first, texts, np.cumsum(lengths)
