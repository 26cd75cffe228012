"""Tokenised text in one or many files, one sentence a line, read as a stream of blocks."""

import glob
import gzip
import io
import logging
import os
import zlib
from pathlib import Path
from typing import Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

import numpy as np

from elmo_plugin.engine.errors import FormatError, OptionsError

logger = logging.getLogger(__name__)

Shard = Union[str, "os.PathLike[str]"]
Source = Union[Shard, Sequence[Shard]]


class CorpusCounts(NamedTuple):
    """What a corpus holds; blank lines are lines but not sentences."""

    lines: int
    sentences: int
    tokens: int


def find_files(source: Source) -> List[Path]:
    """
    Find the shards that a file name, a folder, a glob pattern or a list of these stands for, sorted within each.

    # Raises

    `FileNotFoundError` that names the pattern which matched nothing.
    """
    if not isinstance(source, (str, os.PathLike)):
        files = [file for item in source for file in find_files(item)]
        if not files:
            raise FileNotFoundError("corpus: an empty list of files; expected at least one file, folder or pattern.")
        return files
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        children = [child for child in sorted(path.iterdir()) if not child.name.startswith(".")]
        found = [child for child in children if child.is_file()]
        folders = ", ".join(child.name for child in children if child.is_dir())
        if folders:
            message = "corpus: %s: the folders in it are not read (%s); the pattern %s/** takes them in"
            logger.warning(message, path, folders, path)
        what = "folder holds no files"
    else:
        found = [Path(name) for name in glob.glob(str(source), recursive=True) if os.path.isfile(name)]
        what = "pattern matched no file"
    if not found:
        raise FileNotFoundError(
            f"corpus: {str(source)!r}: {what}; expected a file, a folder with text files, or a glob pattern "
            f"(relative names start from {Path.cwd()})."
        )
    return sorted(found)


def _size(path: Path) -> int:
    """The bytes of a file, or of all in a folder; 0 of what is neither, such as an address."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.is_file() else 0


class Corpus:
    """
    Sentences of many shards, in blocks of bounded size.

    # Parameters

    source : file, folder, glob pattern or a list of these; names that end in `.gz` are decompressed.
    max_sentences : keep only the first sentences, in the order of the files.
    block_sentences : sentences held in memory at a time, and the range within which they are shuffled.
    worker : `(index, count)`: of several workers, read only this one's share: whole shards when enough of them hold a
        sentence.
    read_lines : yields the words of each line of a shard, none for a line that is no sentence; by default words are
        separated by white space. It is given what `source` names as it is: a folder may be one data set.
    """

    def __init__(
        self,
        source: Source,
        max_sentences: Optional[int] = None,
        block_sentences: int = 100_000,
        worker: Tuple[int, int] = (0, 1),
        read_lines: Optional[Callable[[Shard], Iterable[List[str]]]] = None,
    ) -> None:
        if max_sentences is not None and max_sentences < 1:
            raise OptionsError(f"corpus: max_sentences is {max_sentences}, expected at least 1.")
        if block_sentences < 1:
            raise OptionsError(f"corpus: block_sentences is {block_sentences}, expected at least 1.")
        self.source = source
        self.files: List[Shard] = list(find_files(source) if read_lines is None else _listed(source))
        self._max_sentences = max_sentences
        self._block_sentences = block_sentences
        self._read_lines = _read_lines if read_lines is None else read_lines
        self._worker = worker
        # By the place of a file, not by its name: it may be given twice.
        self._lengths: Optional[List[List[np.ndarray]]] = None
        self._lines = 0
        self._counted_lines = 0
        self._taken: Optional[List[int]] = None
        self._skipped: Set[Shard] = set()
        self._found = self.files
        index, count = worker
        if 1 < count <= len(self.files) and max_sentences is None:
            held = [file for file in self.files if self._holds_a_sentence(file)]
            if len(held) >= count:
                self.files, self._worker = held[index::count], (0, 1)

    def sizes(self) -> List[Tuple[str, int]]:
        """Look up name and bytes of each file, in order, those of other workers included."""
        return [(Path(file).name, _size(Path(file))) for file in self._found]

    @property
    def lines(self) -> int:
        """Lines that the last pass over the blocks has read, blank ones included."""
        return self._lines

    def blocks(self, seed: Optional[int] = None) -> Iterator[List[List[str]]]:
        """Yield blocks of sentences (lists of words); shards, and sentences within a block, shuffled by `seed`."""
        random = None if seed is None else np.random.default_rng(seed)
        limits = self._limits()
        self._lines = 0
        for place in self._order(random):
            for block in self._file_blocks(place, limits):
                order = range(len(block)) if random is None else random.permutation(len(block)).tolist()
                yield [block[i] for i in order]

    def lengths(self, seed: Optional[int] = None) -> Iterator[np.ndarray]:
        """Yield the numbers of words of the same sentences, in the same blocks and order, without reading again."""
        random = None if seed is None else np.random.default_rng(seed)
        counted = self._count()
        for place in self._order(random):
            for block in counted[place]:
                yield block if random is None else block[random.permutation(len(block))]

    def counts(self) -> CorpusCounts:
        """
        Count lines, sentences and tokens (words, without boundaries); reads the text once.

        # Raises

        `FormatError` where there is no sentence.
        """
        blocks = [block for of_file in self._count() for block in of_file]
        if not blocks:
            raise self.empty_error()
        return CorpusCounts(self._counted_lines, sum(map(len, blocks)), int(sum(block.sum() for block in blocks)))

    def empty_error(self) -> FormatError:
        """What to raise where a text without a sentence is of no use."""
        index, count = self._worker
        if count > 1:
            return FormatError(
                f"corpus: {self.source!r}: holds no sentence for process {index + 1} of {count}; each needs one. "
                "Use fewer processes, or more text."
            )
        return FormatError(f"corpus: {self.source!r}: all {len(self.files)} files are empty, expected sentences.")

    def _order(self, random: Optional[np.random.Generator]) -> List[int]:
        """The places of the files, in the order in which they are read."""
        return list(range(len(self.files))) if random is None else random.permutation(len(self.files)).tolist()

    def _count(self) -> List[List[np.ndarray]]:
        if self._lengths is None:
            self._lines = 0
            lengths = []
            limits = self._limits()
            for place in self._order(None):
                blocks = self._file_blocks(place, limits)
                lengths.append([np.fromiter(map(len, block), np.int32, len(block)) for block in blocks])
            self._lengths, self._counted_lines = lengths, self._lines
        return self._lengths

    def _limits(self) -> Optional[List[int]]:
        """Sentences to take from each file when there is a maximum."""
        if self._max_sentences is not None and self._taken is None:
            left = self._max_sentences
            self._taken = []
            for file in self.files:
                self._taken.append(left and sum(1 for _ in zip(range(left), filter(None, self._read_lines(file)))))
                left -= self._taken[-1]
        return self._taken

    def _file_blocks(self, place: int, limits: Optional[List[int]]) -> Iterator[List[List[str]]]:
        file = self.files[place]
        index, count = self._worker
        limit = None if limits is None else limits[place]
        block: List[List[str]] = []
        number = -1
        for words in self._read_lines(file):
            number += bool(words)
            if limit is not None and number >= limit:
                break
            self._lines += 1
            if not words:
                continue
            if number % count == index:
                block.append(words)
                if len(block) == self._block_sentences:
                    yield block
                    block = []
        if block:
            yield block
        if number < 0:
            self._warn_of_empty(file)

    def _holds_a_sentence(self, file: Shard) -> bool:
        if any(self._read_lines(file)):
            return True
        self._warn_of_empty(file)
        return False

    def _warn_of_empty(self, file: Shard) -> None:
        if file not in self._skipped:
            self._skipped.add(file)
            logger.warning("corpus: %s holds no sentence; skipped", file)


def _listed(source: Source) -> Sequence[Shard]:
    return [source] if isinstance(source, (str, os.PathLike)) else source


def _read_lines(shard: Shard) -> Iterator[List[str]]:
    file = Path(shard)
    opened = gzip.open(file, "rb") if file.suffix == ".gz" else open(file, "rb")
    number = 0
    with opened as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="\n") as lines:
        try:
            for line in lines:
                number += 1
                yield line.split()
        except UnicodeDecodeError as error:
            raise FormatError(f"{file}: near line {number + 1}: {error}; expected text in UTF-8.") from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{file}: behind line {number}: {error}; expected a complete gzip file.") from error
