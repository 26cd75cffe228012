"""Collecting what finished runs have left, and comparing it with the baselines."""

import math
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.recorder import ItemsError
from elmo_plugin.reproduction.results import Row, collect, compare, gain, p_value
from elmo_plugin.reproduction.tables import Plan
from tests.reproduction.runs import leave_items, leave_result, some_items

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "data", "VECTORS": "vectors.txt", "BILM": "builtin"}


def row(variant, found, items=(), paper=None, percent=100.0):
    cell = Cell(Path("x"), "ner", variant, "test", paper, percent=percent)
    return Row(cell, found, items={Path(str(seed)): of_run for seed, of_run in enumerate(items)})


def test_what_is_collected(tmp_path):
    from elmo_plugin.reproduction.cells import cells_of

    plan = Plan(cells_of("table1", EXPERIMENTS, ["snli"]), (1, 2, 3), VARIABLES, tmp_path)
    first, second, _ = plan.runs_of(plan.cells[0])
    leave_result(first.folder, 0.81, seconds=60.5, commit="b")
    leave_result(second.folder, 0.82, seconds=61.5, commit="a")
    leave_items(second.folder, "test", some_items([1, 0]))

    baseline, elmo = collect(plan)

    assert list(baseline.found) == [0.81, 0.82]
    assert str(baseline.score) == "81.5 ± 0.7"
    assert baseline.seconds == pytest.approx(61)
    assert baseline.commits == ["a", "b"]
    assert baseline.items == {second.folder: some_items([1, 0])}
    assert baseline.parameters == 1234
    assert elmo == Row(plan.cells[1], found=[], commits=[])
    assert elmo.score is None and elmo.parameters is None


def test_runs_of_before_there_were_records_are_collected(tmp_path):
    from elmo_plugin.reproduction.cells import cells_of

    plan = Plan(cells_of("table1", EXPERIMENTS, ["snli"])[:1], (1,), VARIABLES, tmp_path)
    leave_result(plan.runs_of(plan.cells[0])[0].folder, 0.81, commit=None)

    assert collect(plan)[0].commits == []


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
    with pytest.raises(ItemsError, match=r"0 has 2 scored items, 0 [23] others: the data have changed"):
        p_value(row("baseline", [], [some_items([0, 1])]), row("elmo", [], [other]))
