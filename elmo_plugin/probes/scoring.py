"""Scores by the rules of Raganato et al. (2017), and what other texts of the same kind would score."""

from typing import Callable, NamedTuple, Optional, Sequence

import numpy as np

from elmo_plugin.corpus.bootstrap import central, resamples

SAMPLES = 1000
_LEVEL = 0.95


class Interval(NamedTuple):
    """
    A score and where 95 % of texts drawn from the same sentences score; all in percent.

    # Parameters

    value : of the text.
    low, high : the bounds.
    """

    value: float
    low: float
    high: float


def sense_sums(sentences: Sequence[int], gold: Sequence[Sequence[str]], answers: Sequence[Optional[str]]) -> np.ndarray:
    """
    Count the right, the given and the wanted answers of each sentence.

    # Parameters

    sentences : the sentence of each word.
    gold : the senses of each word, any of which is right.
    answers : one sense for each word; None for no answer.

    # Returns

    `(sentences that have words, 3)`.
    """
    counts = [(answer in right, answer is not None, True) for right, answer in zip(gold, answers)]
    return by_sentence(sentences, np.array(counts, dtype=float).reshape(-1, 3))


def by_sentence(sentences: Sequence[int], counts: np.ndarray) -> np.ndarray:
    """
    Add up what the words of each sentence count.

    # Parameters

    sentences : the sentence of each word.
    counts : of each word, `(words, numbers)`.

    # Returns

    `(sentences that have words, numbers)`.
    """
    found, places = np.unique(np.asarray(sentences, dtype=np.int64), return_inverse=True)
    sums = np.zeros((len(found), counts.shape[1]))
    np.add.at(sums, places, counts)
    return sums


def f1(sums: np.ndarray) -> np.ndarray:
    """
    F1 of counts `(..., 3)`: of right / given (precision) and right / wanted (recall).

    With one answer a word that is what the scorer of Raganato et al. computes; where every word has an answer, it is
    the accuracy.
    """
    return _ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def accuracy(sums: np.ndarray) -> np.ndarray:
    """Share of counts `(..., 2)`: of what was right in what there was."""
    return _ratio(sums[..., 0], sums[..., 1])


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    return np.divide(over, under, out=np.zeros_like(over, dtype=float), where=under > 0)


def interval(
    sums: np.ndarray, score: Callable[[np.ndarray], np.ndarray], samples: int = SAMPLES, seed: int = 0
) -> Interval:
    """
    Score a text, and texts of as many sentences that are drawn from it with repetition.

    # Parameters

    sums : what each sentence adds, `(sentences, numbers)`.
    score : of sums, `(..., numbers)` to `(...)`.
    samples, seed : of the drawing.
    """
    return _interval(float(score(sums.sum(axis=0))), score(_drawn(sums, samples, seed)))


def difference(
    first: np.ndarray,
    second: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray],
    samples: int = SAMPLES,
    seed: int = 0,
) -> Interval:
    """As `interval`, for how much more the second scores than the first, on the same sentences each time."""
    assert first.shape == second.shape, (first.shape, second.shape)
    value = float(score(second.sum(axis=0)) - score(first.sum(axis=0)))
    return _interval(value, score(_drawn(second, samples, seed)) - score(_drawn(first, samples, seed)))


def _drawn(sums: np.ndarray, samples: int, seed: int) -> np.ndarray:
    return np.stack([times @ sums for times in resamples(len(sums), samples, seed)])


def _interval(value: float, drawn: np.ndarray) -> Interval:
    return Interval(100 * value, *central(100 * drawn, _LEVEL))
