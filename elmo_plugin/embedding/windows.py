"""What is in memory at once: windows of lines, and within a window batches of sentences of similar length."""

from typing import Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from elmo_plugin.embedding.text import TextLine

#: Padded places of a batch, for each token that it may have.
_PADDED = 4


class Limits(NamedTuple):
    """
    Where a window ends: at the first line that reaches one of these.

    # Parameters

    lines, tokens : in a window.
    text_bytes : roughly, of the text of a window.
    """

    lines: int
    tokens: int
    text_bytes: int = 1 << 25


def windows(lines: Iterable[TextLine], limits: Limits) -> Iterator[List[TextLine]]:
    """Cut lines into windows. Where a window ends depends on the lines alone."""
    window: List[TextLine] = []
    tokens = characters = 0
    for line in lines:
        window.append(line)
        tokens += len(line.tokens)
        characters += len(line.text)
        if len(window) >= limits.lines or tokens >= limits.tokens or characters >= limits.text_bytes:
            yield window
            window, tokens, characters = [], 0, 0
    if window:
        yield window


class BatchPlan(NamedTuple):
    """
    How the sentences of a window become batches.

    # Parameters

    tokens : in a batch, at most, unless it is one sentence.
    rows : sentences in a batch, at most; None for no limit.
    """

    tokens: int
    rows: Optional[int] = None

    def batches(self, lengths: Sequence[int]) -> List[np.ndarray]:
        """
        Put sentences of similar length together.

        # Parameters

        lengths : tokens of each sentence.

        # Returns

        The places of the sentences of each batch, int64. Those without tokens are in none.
        """
        order = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")
        batches: List[np.ndarray] = []
        start = total = 0
        order = order[np.asarray(lengths, dtype=np.int64)[order] > 0]
        for end, place in enumerate(order):
            length = int(lengths[place])
            if end > start and not self._fits(end - start + 1, total + length, length):
                batches.append(order[start:end])
                start, total = end, 0
            total += length
        if start < len(order):
            batches.append(order[start:])
        return batches

    def _fits(self, rows: int, tokens: int, longest: int) -> bool:
        if self.rows is not None and rows > self.rows:
            return False
        return tokens <= self.tokens and rows * longest <= _PADDED * self.tokens


def rounds(first: int, count: int, rows: int) -> Iterator[Tuple[int, int]]:
    """
    Cut the lines of a window where a batch of lines in their order begins: at the multiples of `rows`.

    # Parameters

    first : number of the window's first line.
    count : lines of the window.
    rows : lines in a batch.

    # Returns

    The places in the window, from and to.
    """
    start = 0
    while start < count:
        stop = min(count, start + rows - (first + start) % rows)
        yield start, stop
        start = stop
