"""How often each word of a text occurs, counted exactly in bounded memory: sorted runs on disk, merged in the end."""

import heapq
import tempfile
from collections import Counter
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from typing import IO, Iterator, List, Tuple


class WordCounts:
    """
    Count words that hold no white space. A context manager, which closes its files.

    # Parameters

    max_words : distinct words in memory; when there are more, they go to a file without a name in the folder for
        temporary files, which vanishes with the process.
    """

    def __init__(self, max_words: int = 2_000_000) -> None:
        self._max_words = max_words
        self._counts: Counter[str] = Counter()
        self._runs: List[IO[str]] = []
        self._files = ExitStack()
        #: words that were counted, each occurrence
        self.tokens = 0

    def __enter__(self) -> "WordCounts":
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def update(self, sentence: List[str]) -> None:
        """Count the words of a sentence."""
        self._counts.update(sentence)
        self.tokens += len(sentence)
        if len(self._counts) > self._max_words:
            run = self._files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n"))
            run.writelines(f"{word} {count}\n" for word, count in self._sorted())
            self._runs.append(run)
            self._counts = Counter()

    def items(self) -> Iterator[Tuple[str, int]]:
        """Each word with its count, in the order of their code points."""
        merged = heapq.merge(*map(_read, self._runs), self._sorted())
        for word, found in groupby(merged, key=itemgetter(0)):
            yield word, sum(count for _, count in found)

    def _sorted(self) -> List[Tuple[str, int]]:
        return sorted(self._counts.items())


def _read(run: IO[str]) -> Iterator[Tuple[str, int]]:
    run.seek(0)
    for line in run:
        word, count = line.split(" ")
        yield word, int(count)
