"""
Rows of ids by word, remembered: text repeats itself, and a look-up is many times faster than a conversion.

A row is kept as `bytes`, which nobody can change; every caller gets an array of its own.
"""

from itertools import islice
from typing import Callable, Dict, Iterable, List, Sequence

import numpy as np

#: Words in each of the two halves of a memory. A row of 50 ids takes about 300 bytes with its word: 20 MB for two full
#: halves.
WORDS_IN_A_HALF = 1 << 15

# Longer strings are no words of a text. They are converted each time, so that the memory is bounded in bytes too.
_LONGEST_WORD = 100

#: of the ids in a row
DTYPE = np.dtype(np.int16)


class WordRows:
    """
    A bounded memory of the rows of words.

    Words that are used stay: a word that was not asked for while a whole half filled up is forgotten. There is no lock,
    so that threads may share a memory and a process may fork at any time; at worst a word is converted twice.

    # Parameters

    convert : makes the row of a word: `length` ids in `DTYPE`.
    length : of a row.
    """

    def __init__(self, convert: Callable[[str], bytes], length: int) -> None:
        self.length = length
        self._convert = convert
        self._recent: Dict[str, bytes] = {}
        self._older: Dict[str, bytes] = {}

    def rows(self, words: Sequence[str]) -> List[bytes]:
        """Return the row of each word."""
        rows = list(map(self._recent.get, words))
        if None in rows:
            found = self._find(word for word, row in zip(words, rows) if row is None)
            rows = [found[word] if row is None else row for word, row in zip(words, rows)]
        return rows  # type: ignore[return-value]

    def array(self, words: Sequence[str]) -> np.ndarray:
        """Return the rows as an array of the caller's own, `(words, length)` in `DTYPE`."""
        return join_rows(self.rows(words), self.length)

    def _find(self, words: Iterable[str]) -> Dict[str, bytes]:
        """Take words from the older half, or convert them, and put them into the recent one."""
        older = self._older  # another thread may put another one in its place
        found: Dict[str, bytes] = {}
        for word in words:
            if word not in found:
                found[word] = older.get(word) or self._convert(word)
        recent = self._recent
        if len(recent) + len(found) > WORDS_IN_A_HALF:
            self._older, recent = recent, {}
            self._recent = recent
        kept = ((word, row) for word, row in found.items() if len(word) <= _LONGEST_WORD)
        recent.update(islice(kept, WORDS_IN_A_HALF))
        return found


def join_rows(rows: Iterable[bytes], length: int) -> np.ndarray:
    """Put rows of `length` ids into a new array, `(rows, length)` in `DTYPE`."""
    return np.frombuffer(bytearray().join(rows), dtype=DTYPE).reshape(-1, length)
