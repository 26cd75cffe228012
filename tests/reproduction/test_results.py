"""Collecting what finished runs have left, and comparing it with the baselines."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction import items, outcome
from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.inputs import inputs_of
from elmo_plugin.reproduction.recorder import ItemsError
from elmo_plugin.reproduction.results import Comparison, Row, against, collect, compare, gain, p_value
from elmo_plugin.reproduction.tables import Plan
from tests import task_data
from tests.reproduction.runs import leave_items, leave_result, some_items

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "data", "VECTORS": "vectors.txt", "BILM": "builtin"}


def row(variant, found, items=(), paper=None, percent=100.0):
    cell = Cell(Path("x"), "ner", variant, "test", paper, percent=percent)
    return Row(cell, dict(enumerate(found, 1)), items=dict(enumerate(items, 1)))


def test_what_is_collected(tmp_path):
    from elmo_plugin.reproduction.cells import cells_of

    plan = Plan(cells_of("table1", EXPERIMENTS, ["snli"]), (1, 2, 3), VARIABLES, tmp_path)
    first, second, _ = plan.runs_of(plan.cells[0])
    leave_result(first.folder, 0.81, seconds=60.5, commit="b")
    leave_result(second.folder, 0.82, seconds=61.5, commit="a")
    leave_items(second.folder, "test", some_items([1, 0]))

    baseline, elmo = collect(plan)

    assert baseline.found == {1: 0.81, 2: 0.82}
    assert str(baseline.score) == "81.5 ± 0.7"
    assert baseline.seconds == pytest.approx(61)
    assert baseline.commits == ["a", "b"]
    assert baseline.items == {2: some_items([1, 0])}
    assert baseline.parameters == 1234
    assert elmo == Row(plan.cells[1], {}, None, [], {}, [])
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

    assert found.ours.absolute == pytest.approx(10)
    assert found.p_value == p_value(row("baseline", [], [wrong]), row("elmo", [], [right]))
    assert against(base, Row(cells[1], {2: 0.1}, items={2: wrong})) == Comparison(
        Row(cells[1], {2: 0.1}, items={2: wrong})
    )


def test_items_that_do_not_go_together_leave_the_rest_of_a_table():
    found = against(row("baseline", [0.5], [some_items([0, 1])]), row("elmo", [0.6], [some_items([1])]))

    assert found.ours.absolute == pytest.approx(10) and found.p_value is None
    assert "the data have changed" in found.remark


def test_a_baseline_without_errors_has_none_to_lose():
    assert math.isnan(gain(100.0, 90.0).relative)


@pytest.fixture
def plan(tmp_path):
    """The baseline of entities, seed 1, on data that are there."""
    from elmo_plugin.reproduction.cells import cells_of

    variables = {**VARIABLES, **task_data.write(tmp_path / "data")}
    return Plan(cells_of("table1", EXPERIMENTS, ["ner"])[:1], (1,), variables, tmp_path / "runs")


def test_what_was_trained_on_other_data_is_named(plan, tmp_path):
    (run,) = plan.runs_of(plan.cells[0])
    leave_result(run.folder, 0.8, inputs=inputs_of(run.config, run.variables))
    assert collect(plan)[0].remarks == []

    with (tmp_path / "data" / "ner" / "wikigold" / "train.txt").open("a") as file:
        file.write("more O\n")

    (remark,) = collect(plan)[0].remarks
    assert remark.startswith("table1/ner_baseline, seed 1: data have changed since. To train again remove")
    assert collect(plan)[0].found == {1: 0.8}


@pytest.mark.parametrize("name", [outcome.METRICS, "config.json", outcome.RECORD])
def test_a_broken_result_is_named_and_stops_no_table(plan, name):
    (run,) = plan.runs_of(plan.cells[0])
    leave_result(run.folder, 0.8)
    (run.folder / name).write_text("{")

    (found,) = collect(plan)

    assert found.found == {}
    assert found.remarks[0].startswith(f"table1/ner_baseline, seed 1: {run.folder}: not the results of a training")


def test_broken_items_are_named(plan):
    (run,) = plan.runs_of(plan.cells[0])
    leave_result(run.folder, 0.8)
    items.path_of(run.folder, "test").write_text("[1]")

    assert "not scored items" in collect(plan)[0].remarks[0]


def test_a_training_that_was_cut_short_is_named(plan):
    (run,) = plan.runs_of(plan.cells[0])
    leave_result(run.folder, 0.8, epochs=(8, 9), trainer={"num_epochs": 10, "patience": 2})

    assert collect(plan)[0].remarks == [
        "table1/ner_baseline, seed 1: the best of 10 epochs is number 9: more might do better"
    ]


def test_all_seeds_that_are_there(plan, tmp_path):
    leave_result(plan.runs_of(plan.cells[0])[0].folder.with_name("12"), 0.8)
    leave_result(plan.runs_of(plan.cells[0])[0].folder.with_name("3"), 0.7)
    (tmp_path / "runs").joinpath(plan.runs_of(plan.cells[0])[0].folder.parent.name, "4.part").mkdir()

    assert collect(replace(plan, seeds=None))[0].found == {3: 0.7, 12: 0.8}


def test_p_of_other_seeds_than_the_gain_is_said():
    """The items of seed 2 are not scored yet."""
    wrong, right = some_items([0] * 14 + [1] * 6), some_items([1] * 20)
    found = against(row("baseline", [0.3, 0.3], [wrong, wrong]), row("elmo", [1.0, 0.5], [right]))

    assert found.ours.absolute == pytest.approx(45) and found.p_value is not None
    assert found.remark == (
        "ner, elmo: p is of seeds [1] alone, the gain of [1, 2]: not all items are scored, which the next run does."
    )
    assert against(row("baseline", [0.3], [wrong]), row("elmo", [1.0], [right])).remark == ""


def test_a_score_that_is_missing_leaves_the_rest_of_a_table(tmp_path):
    from elmo_plugin.reproduction.cells import cells_of

    plan = Plan(cells_of("table1", EXPERIMENTS, ["snli"]), (1, 2), VARIABLES, tmp_path)
    first, second = plan.runs_of(plan.cells[0])
    for run in (first, second):
        leave_result(run.folder, 0.8)
    (first.folder / outcome.METRICS).write_text('{"training_duration": "0:00:02"}')

    found = collect(plan)[0]

    assert found.found == {2: 0.8}
    assert found.remarks == [
        "table1/snli_baseline, seed 1: metrics.json has None for test_accuracy, expected a number. "
        "Remove the folder to train again."
    ]
