"""Scores of several runs in one figure."""

import math
from dataclasses import dataclass
from typing import Sequence


@dataclass(frozen=True)
class Score:
    """
    Mean and spread of a score in percent.

    # Parameters

    mean : over the runs.
    deviation : the sample's standard deviation; not a number where there is one run.
    """

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if math.isnan(self.deviation) else f" ± {self.deviation:.1f}")


def score(fractions: Sequence[float]) -> Score:
    """Summarise what the runs scored, given as fractions of one."""
    percents = [100 * fraction for fraction in fractions]
    mean = sum(percents) / len(percents)
    if len(percents) == 1:
        return Score(mean, math.nan)
    return Score(mean, math.sqrt(sum((value - mean) ** 2 for value in percents) / (len(percents) - 1)))


def error_reduction(baseline: float, improved: float) -> float:
    """
    Return how many percent of the baseline's errors are gone, as in table 1 of Peters et al. (2018); not a number where
    it has none.
    """
    if baseline == 100:
        return math.nan
    return 100 * (improved - baseline) / (100 - baseline)
