"""Scores of hand-made cases, and intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.probes.scoring import accuracy, difference, f1, interval, sense_sums


def scorer(gold, answers):
    """The rules as Raganato et al. (2017) state them, word by word."""
    given = [(right, answer) for right, answer in zip(gold, answers) if answer is not None]
    right = sum(answer in senses for senses, answer in given)
    precision = right / len(given) if given else 0.0
    recall = right / len(gold)
    return 2 * precision * recall / (precision + recall) if right else 0.0


@pytest.mark.parametrize(
    "gold,answers,expected",
    [
        ([("a",), ("b",)], ["a", "b"], 1.0),
        ([("a",), ("b",)], ["a", "c"], 0.5),
        ([("a", "b")], ["b"], 1.0),
        ([("a",), ("b",), ("c",), ("d",)], ["a", None, None, "x"], 2 * 0.5 * 0.25 / 0.75),
        ([("a",)], [None], 0.0),
    ],
)
def test_f1_of_hand_made_cases(gold, answers, expected):
    sums = sense_sums(range(len(gold)), gold, answers)

    assert float(f1(sums.sum(axis=0))) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.sampled_from(["a", "b", None])), min_size=1))
def test_f1_is_that_of_the_rules(words):
    words.sort(key=lambda word: word[0])
    sentences, gold, answers = [word[0] for word in words], [(word[1],) for word in words], [word[2] for word in words]
    sums = sense_sums(sentences, gold, answers)

    assert len(sums) == len(set(sentences))
    assert float(f1(sums.sum(axis=0))) == pytest.approx(scorer(gold, answers))


def test_interval_is_around_the_value_and_narrows():
    random = np.random.RandomState(0)
    few, many = (np.stack([random.randint(0, 2, n), np.ones(n)], axis=1).astype(float) for n in (30, 3000))
    of_few, of_many = interval(few, accuracy), interval(many, accuracy)

    for found, sums in ((of_few, few), (of_many, many)):
        assert found.low < found.value < found.high
        assert found.value == pytest.approx(100 * sums[:, 0].mean())
    assert of_many.high - of_many.low < (of_few.high - of_few.low) / 3
    assert interval(few, accuracy) == of_few, "seeded"
    # A share of one half over 3,000 coins has a standard error of 0.91 points.
    assert of_many.high - of_many.low == pytest.approx(2 * 1.96 * 0.913, rel=0.1)


def test_difference_is_of_the_same_sentences():
    sums = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 3.0]] * 10)
    better = sums + [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]] * 10

    found = difference(sums, better, accuracy)

    assert found.value == pytest.approx(100 * 10 / 60)
    assert 0 < found.low < found.value < found.high
    assert difference(sums, sums, accuracy) == (0.0, 0.0, 0.0)


def test_nothing_scores_nothing():
    assert interval(np.zeros((2, 3)), f1) == (0.0, 0.0, 0.0)
