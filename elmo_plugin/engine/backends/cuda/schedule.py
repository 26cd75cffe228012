"""Which tokens a step takes, in the order in which steps are processed, and how many steps go together."""

from dataclasses import dataclass
from typing import Iterator, List, Sequence, Tuple

import torch

from elmo_plugin.engine.packing import Packing

#: Steps of the longest captured graph. A text of n steps is run as the powers of two that n is made of, so that no
#: step is wasted and few different graphs serve all lengths.
LONGEST_PIECE = 32


@dataclass(frozen=True)
class Span:
    """
    Steps that are processed one after the other, in one direction.

    # Parameters

    place : their packed tokens, which are contiguous.
    offsets : first token of each step, counted from `place.start`.
    sizes : running rows of each step.
    """

    place: slice
    offsets: Tuple[int, ...]
    sizes: Tuple[int, ...]

    @property
    def tokens(self) -> int:
        """Number of tokens of all steps."""
        return self.place.stop - self.place.start

    def piece(self, first: int, count: int) -> "Span":
        """Some of the steps; their offsets still count from the place of all."""
        return Span(self.place, self.offsets[first : first + count], self.sizes[first : first + count])

    def table(self) -> torch.Tensor:
        """`(steps, 2)` int64: offset and size of each step, as the kernels read them."""
        return torch.tensor([self.offsets, self.sizes], dtype=torch.int64).t().contiguous()


def span(packing: Packing, reverse: bool, first: int, last: int) -> Span:
    """
    Describe the steps from the one that is processed as number `first` to the one in front of number `last`.

    # Parameters

    reverse : whether the last step of the packing is processed first.
    """
    if reverse:
        steps = range(packing.steps - 1 - first, packing.steps - 1 - last, -1)
        start, stop = packing.offsets[packing.steps - last], packing.offsets[packing.steps - first]
    else:
        steps = range(first, last)
        start, stop = packing.offsets[first], packing.offsets[last]
    return Span(
        place=slice(start, stop),
        offsets=tuple(packing.offsets[step] - start for step in steps),
        sizes=tuple(packing.sizes[step] for step in steps),
    )


def blocks(packing: Packing, reverses: Sequence[bool], tokens: int) -> Iterator[Tuple[int, int]]:
    """
    Cut all steps, by their number in the order of processing, into blocks of few tokens in every direction.

    # Parameters

    reverses : the directions.
    tokens : of a block at most, unless a single step has more.

    # Returns

    First step of each block and the step behind its last.
    """
    first = 0
    taken = [0] * len(reverses)
    for number in range(packing.steps):
        sizes = [packing.sizes[packing.steps - 1 - number if reverse else number] for reverse in reverses]
        if number > first and max(have + size for have, size in zip(taken, sizes)) > tokens:
            yield first, number
            first, taken = number, [0] * len(reverses)
        taken = [have + size for have, size in zip(taken, sizes)]
    if packing.steps:
        yield first, packing.steps


def pieces(steps: int) -> List[int]:
    """Write a number of steps as a sum of powers of two, none above `LONGEST_PIECE`, the largest first."""
    found = [LONGEST_PIECE] * (steps // LONGEST_PIECE)
    rest = steps % LONGEST_PIECE
    return found + [1 << bit for bit in reversed(range(rest.bit_length())) if rest >> bit & 1]


def row_bucket(rows: int) -> int:
    """The number of rows that memory and graphs are made for: rounded up, so that few different ones are needed."""
    if rows <= 16:
        return 1 << max(rows - 1, 0).bit_length()
    unit = 16 if rows <= 128 else 64
    return -(-rows // unit) * unit
