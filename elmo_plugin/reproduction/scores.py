"""Scores of several runs in one figure."""

import math
import statistics
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
    return Score(statistics.mean(percents), statistics.stdev(percents) if len(percents) > 1 else math.nan)


def error_reduction(baseline: float, improved: float) -> float:
    """
    Return how many percent of the baseline's errors are gone, as in table 1 of Peters et al. (2018); not a number where
    it has none.
    """
    if baseline == 100:
        return math.nan
    return 100 * (improved - baseline) / (100 - baseline)
