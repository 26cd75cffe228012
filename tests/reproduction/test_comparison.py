"""Cells beside their baselines."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.comparison import Comparison, against, compare, gain, p_value
from elmo_plugin.reproduction.recorder import ItemsError
from elmo_plugin.reproduction.results import Row
from tests.reproduction.runs import some_items


def row(variant, found, items=(), paper=None, percent=100.0):
    cell = Cell(Path("x"), "ner", variant, "test", paper, percent=percent)
    return Row(cell, dict(enumerate(found, 1)), items=dict(enumerate(items, 1)))


def test_gain():
    """From 80 to 85 percent: a quarter of the errors."""
    found = gain(80.0, 85.0)

    assert (found.absolute, found.relative) == (5.0, pytest.approx(25))
    assert gain(None, 85.0) is None and gain(80.0, None) is None


def test_a_row_is_compared_with_the_baseline_on_as_much_of_the_data():
    rows = [row("baseline_1", [0.5], percent=1), row("elmo_1", [0.6], percent=1)]
    rows += [row("baseline", [0.8], paper=90.0), row("elmo", [0.9], paper=92.0)]

    small_base, small, base, elmo = compare(rows)

    assert small_base.ours is None and base.ours is None and base.papers is None
    assert small.ours.relative == pytest.approx(20) and small.papers is None
    assert elmo.ours.relative == pytest.approx(50) and elmo.papers.relative == pytest.approx(20)
    assert elmo.p_value is None


def test_without_a_baseline_nothing_is_compared():
    assert compare([row("input", [0.5])])[0].ours is None


def test_difference_is_tested_over_items_with_the_seeds_that_both_have():
    """14 items that ELMo alone gets right, in each of two trainings: 2 of the 2 ** 14 ways to swap are as large."""
    wrong, right = some_items([0] * 14 + [1] * 6), some_items([1] * 20)

    p = p_value(row("baseline", [], [wrong, wrong]), row("elmo", [], [right, right, wrong]))

    assert p == pytest.approx(2 / 2**14 + 1 / 10_000, abs=5e-4)
    assert math.isclose(p_value(row("baseline", [], [wrong]), row("elmo", [], [wrong])), 1)


@pytest.mark.parametrize("other", [some_items([1, 1], digest="another"), some_items([1, 1, 1])])
def test_other_items_are_refused(other):
    with pytest.raises(
        ItemsError, match=r"baseline, seed 1, has 2 scored items, elmo, seed 1, [23] others: the data have"
    ):
        p_value(row("baseline", [], [some_items([0, 1])]), row("elmo", [], [other]))


def test_seeds_that_one_of_two_rows_does_not_have_are_not_compared():
    """Seeds 1 and 3 against 1 and 2: seed 1 alone, where ELMo gains 10 points and gets 14 of 20 more right."""
    wrong, right = some_items([0] * 14 + [1] * 6), some_items([1] * 20)
    cells = [Cell(Path("x"), "ner", variant, "test") for variant in ("baseline", "elmo")]
    base = Row(cells[0], {1: 0.5, 3: 0.9}, items={1: wrong, 3: right})
    elmo = Row(cells[1], {1: 0.6, 2: 0.1}, items={1: right, 2: wrong})

    found = against(base, elmo)

    assert found.ours.absolute == pytest.approx(10) and found.seeds == [1]
    assert found.remarks == ["ner, elmo: the gain is of seed 1 alone, which both have."]
    assert found.p_value == p_value(row("baseline", [], [wrong]), row("elmo", [], [right]))
    unscored = against(replace(base, items={}), replace(elmo, found={1: 0.6, 3: 0.7}))
    assert unscored.remarks == [
        "ner, elmo: no p: not all items are scored; `run` scores them where the weights are there."
    ]
    other = Row(cells[1], {2: 0.1}, items={2: wrong})
    remark = "ner, elmo: no gain: seeds 1, 3 of the baseline, seed 2 of this."
    assert against(base, other) == Comparison(other, remarks=[remark])
    assert against(base, Row(cells[1])) == Comparison(Row(cells[1]), remarks=[])


def test_items_that_do_not_go_together_leave_the_rest_of_a_table():
    found = against(row("baseline", [0.5], [some_items([0, 1])]), row("elmo", [0.6], [some_items([1])]))

    assert found.ours.absolute == pytest.approx(10) and found.p_value is None
    assert "the data have changed" in found.remarks[0]


def test_a_baseline_without_errors_has_none_to_lose():
    assert math.isnan(gain(100.0, 90.0).relative)


def test_p_of_other_seeds_than_the_gain_is_said():
    """The items of seed 2 are not scored yet."""
    wrong, right = some_items([0] * 14 + [1] * 6), some_items([1] * 20)
    found = against(row("baseline", [0.3, 0.3], [wrong, wrong]), row("elmo", [1.0, 0.5], [right]))

    assert found.ours.absolute == pytest.approx(45) and found.p_value is not None
    assert found.remarks == [
        "ner, elmo: p is of seed 1 alone, the gain of seeds 1, 2: not all items are scored; `run` scores "
        "them where the weights are there."
    ]
    assert against(row("baseline", [0.3], [wrong]), row("elmo", [1.0], [right])).remarks == []
