"""Corpus scores as functions of sums over the items of a part of the data, such as F1 of what is found and missed."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

import numpy as np


@dataclass(frozen=True)
class Measure:
    """
    A score of a corpus to which every item adds its numbers.

    # Parameters

    sums : the numbers that a metric of AllenNLP has added up so far.
    score : of such sums, a fraction of one: `(..., numbers)` to `(...)`. Where a denominator is 0 so is the score.
    numbers : how many there are.
    """

    sums: Callable[[Any], List[float]]
    score: Callable[[np.ndarray], np.ndarray]
    numbers: int


def share(sums: np.ndarray) -> np.ndarray:
    """The first of two numbers over the second."""
    return _over(sums[..., 0], sums[..., 1])


def span_f1(sums: np.ndarray) -> np.ndarray:
    """F1 of three numbers: what is right, what is there and should not be, what is missed."""
    right, surplus, missed = np.moveaxis(sums, -1, 0)
    return _over(2 * right, 2 * right + surplus + missed)


def conll_f1(sums: np.ndarray) -> np.ndarray:
    """
    Average the F1 of MUC, B-cubed and CEAF, as the CoNLL-2012 task does.

    # Parameters

    sums : `(..., 12)`: for each of the three, numerator and denominator of precision and of recall.
    """
    found, said, covered, there = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, 4), -1, 0)  # (..., 3) each
    precision, recall = _over(found, said), _over(covered, there)
    return _over(2 * precision * recall, precision + recall).mean(axis=-1)


def _over(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return np.divide(numerator, denominator, out=np.zeros(np.shape(denominator)), where=denominator > 0)


def _spans(metric: Any) -> List[float]:
    return [
        sum(counts.values()) for counts in (metric._true_positives, metric._false_positives, metric._false_negatives)
    ]


def _coreference(metric: Any) -> List[float]:
    names = ("precision_numerator", "precision_denominator", "recall_numerator", "recall_denominator")
    return [float(getattr(scorer, name)) for scorer in metric.scorers for name in names]


#: by the class of the metric
MEASURES: Dict[str, Measure] = {
    "CategoricalAccuracy": Measure(lambda metric: [metric.correct_count, metric.total_count], share, 2),
    "SquadEmAndF1": Measure(lambda metric: [metric._total_f1, metric._count], share, 2),
    "SpanBasedF1Measure": Measure(_spans, span_f1, 3),
    "SrlEvalScorer": Measure(_spans, span_f1, 3),
    "ConllCorefScores": Measure(_coreference, conll_f1, 12),
}
#: by what a training is validated by: the classes of the metrics that may give that score
OF_SCORE: Dict[str, List[str]] = {
    "accuracy": ["CategoricalAccuracy"],
    "f1": ["SquadEmAndF1"],
    "f1-measure-overall": ["SpanBasedF1Measure", "SrlEvalScorer"],
    "coref_f1": ["ConllCorefScores"],
}


def measure_of(metric: Any, score: str) -> Optional[str]:
    """Name the measure of a metric, in `MEASURES`; None where the metric does not give that score."""
    names = [kind.__name__ for kind in type(metric).__mro__]
    return next((name for name in OF_SCORE[score] if name in names), None)
