"""The paired test: against scipy's and McNemar's exact tests, and what must hold for any data."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from elmo_plugin.reproduction.measures import share, span_f1
from elmo_plugin.reproduction.significance import paired_p_value

#: right, surplus and missed spans of up to 8 items in 1 or 2 trainings of two systems
COUNTS = st.tuples(st.integers(1, 2), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.float64, (2, *shape, 3), elements=st.integers(0, 4))
)


def accuracies(right):
    """`(trainings, items)` of zeros and ones as the numbers of an accuracy."""
    right = np.asarray(right, dtype=float)
    return np.stack([right, np.ones_like(right)], axis=-1)


def p_value(first, second, score, **options):
    """Of items that are each on a text of its own."""
    return paired_p_value(first, second, np.arange(first.shape[1]), score, **options)


def exact(first, second, score):
    """Every way of swapping items."""

    def distance(swaps):
        places = np.array(swaps, dtype=bool)[None, :, None]
        one, two = np.where(places, second, first), np.where(places, first, second)
        return abs(score(two.sum(axis=1)).mean() - score(one.sum(axis=1)).mean())

    distances = [distance(swaps) for swaps in itertools.product([0, 1], repeat=first.shape[1])]
    return np.mean(np.array(distances) >= distances[0] - 1e-12)


@settings(max_examples=40, deadline=None)
@given(COUNTS)
def test_every_swap_and_random_swaps_agree(counts):
    """5,000 draws leave a standard error of 0.007 at most."""
    assert p_value(*counts, span_f1, resamples=5000) == pytest.approx(exact(*counts, span_f1), abs=0.035)


@settings(max_examples=60, deadline=None)
@given(COUNTS, st.integers(1, 300))
def test_what_holds_for_any_counts(counts, resamples):
    first, second = counts
    p = p_value(first, second, span_f1, resamples=resamples)

    assert 1 / (resamples + 1) <= p <= 1
    assert p_value(second, first, span_f1, resamples=resamples) == p
    assert p_value(first, first, span_f1, resamples=resamples) == 1
    assert p_value(3 * first, 3 * second, span_f1, resamples=resamples) == p


def test_accuracy_of_one_training_is_mcnemar_s_test():
    """Of 20 items that only one system gets right the second has 16; 80 others say nothing."""
    first, second = np.zeros((1, 100)), np.zeros((1, 100))
    first[0, :4] = second[0, 4:20] = 1
    first[0, 20:70] = second[0, 20:70] = 1

    p = p_value(accuracies(first), accuracies(second), share, resamples=100_000)

    binomial = 2 * stats.binom.cdf(4, 20, 0.5)
    assert p == pytest.approx(binomial, rel=0.1)


def test_mean_over_trainings_is_scipy_s_permutation_test():
    """Of the items' mean results, which is what an accuracy over several trainings is."""
    random = np.random.default_rng(3)
    first, second = (random.random((3, 12)) < 0.5).astype(float), (random.random((3, 12)) < 0.7).astype(float)
    expected = stats.permutation_test(
        (first.mean(axis=0), second.mean(axis=0)),
        lambda one, two: np.mean(two) - np.mean(one),
        permutation_type="samples",
        vectorized=False,
    )

    p = p_value(accuracies(first), accuracies(second), share, resamples=50_000)

    assert p == pytest.approx(expected.pvalue, abs=0.01)


def test_blocks_of_many_items_are_all_drawn(monkeypatch):
    from elmo_plugin.reproduction import significance

    random = np.random.default_rng(3)
    first, second = accuracies(random.random((1, 50)) < 0.5), accuracies(random.random((1, 50)) < 0.6)
    at_once = p_value(first, second, share, resamples=4000)

    monkeypatch.setattr(significance, "_BLOCK", 501)
    assert p_value(first, second, share, resamples=4000) == pytest.approx(at_once, abs=0.04)


def test_a_true_hypothesis_is_rejected_as_often_as_the_p_value_says():
    """Two systems that are right on the same share of items, 400 times: p < 0.1 in a tenth of them."""
    random = np.random.default_rng(1)
    values = [
        p_value(*(accuracies(random.random((1, 200)) < 0.6) for _ in range(2)), share, resamples=200)
        for _ in range(400)
    ]

    assert np.mean(np.array(values) < 0.1) == pytest.approx(0.1, abs=0.045)


def test_items_of_one_text_are_swapped_together():
    """Three copies of each item say no more than one of them, though as items of their own they would."""
    random = np.random.default_rng(5)
    first, second = accuracies(random.random((2, 30)) < 0.5), accuracies(random.random((2, 30)) < 0.65)
    thrice = [np.tile(of_system, (1, 3, 1)) for of_system in (first, second)]
    alone = p_value(first, second, share)

    assert paired_p_value(*thrice, np.tile(np.arange(30), 3), share) == alone
    assert p_value(*thrice, share) < alone - 0.05


def test_other_items_are_refused():
    with pytest.raises(ValueError, match=r"shapes \(1, 3, 2\) and \(1, 4, 2\), expected the same"):
        p_value(np.zeros((1, 3, 2)), np.zeros((1, 4, 2)), share)
    with pytest.raises(ValueError, match="2 groups for 3 items, expected one for each"):
        paired_p_value(np.zeros((1, 3, 2)), np.zeros((1, 3, 2)), np.arange(2), share)
