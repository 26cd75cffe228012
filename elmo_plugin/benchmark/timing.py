"""Times that can be compared on a machine that others use too: taken in turns, and summed up by medians of ratios."""

import time
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Sequence

#: below this many rounds a median means little
MIN_ROUNDS = 3


@dataclass(frozen=True)
class Spread:
    """
    A median with its quartiles.

    # Parameters

    median, low, high : the second, first and third quartile.
    """

    median: float
    low: float
    high: float


def quantile(values: Sequence[float], fraction: float) -> float:
    """Return the quantile of the values, linear between neighbours."""
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def spread(values: Sequence[float]) -> Spread:
    """Sum up measurements."""
    return Spread(median=quantile(values, 0.5), low=quantile(values, 0.25), high=quantile(values, 0.75))


def ratios(baseline: Sequence[float], times: Sequence[float]) -> List[float]:
    """How many times faster than the baseline, round by round: what disturbs a round disturbs both."""
    return [base / own for base, own in zip(baseline, times)]


def in_turns(
    measure: Mapping[str, Callable[[], float]], rounds: int, seconds: float, clock: Callable[[], float] = time.monotonic
) -> Dict[str, List[float]]:
    """
    Measure everything once, then everything again, and so on: A B C A B C.

    # Parameters

    measure : by name, what does the work once and returns how long it took.
    rounds : how often.
    seconds : after so much time no new round is begun, `MIN_ROUNDS` apart.
    clock : for tests.

    # Returns

    The times of each, in the order of the rounds.
    """
    times: Dict[str, List[float]] = {name: [] for name in measure}
    begun = clock()
    for number in range(rounds):
        if number >= MIN_ROUNDS and clock() - begun > seconds:
            break
        for name, once in measure.items():
            times[name].append(once())
    return times
