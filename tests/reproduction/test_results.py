"""Collecting what finished runs have left."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction import items, outcome
from elmo_plugin.reproduction.inputs import inputs_of
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.results import Row, collect
from tests import task_data
from tests.reproduction.runs import leave_items, leave_result, some_items

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "data", "VECTORS": "vectors.txt", "BILM": "builtin"}


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


@pytest.mark.parametrize("scored,is_told", [(0.7504, False), (0.7506, True), (0.744, True)])
def test_items_that_come_to_another_score_are_named(scored, is_told, plan):
    """The gain is of what the trainings have reported, p of the items."""
    (run,) = plan.runs_of(plan.cells[0])
    leave_result(run.folder, scored)
    leave_items(run.folder, "test", some_items([1, 1, 1, 0]))

    remark = "table1/ner_baseline, seed 1: its test items, in other batches, come to 75.00, the training reported "
    assert collect(plan)[0].remarks == ([f"{remark}{100 * scored:.2f}"] if is_told else [])


def test_weights_are_known_from_the_items_of_any_part(plan):
    """Though those of the cell's own part are not scored; damaged ones say nothing, and take no score away."""
    (run,) = plan.runs_of(plan.cells[0])
    leave_result(run.folder, 0.8)
    leave_items(run.folder, "development", some_items([1, 0]))
    assert collect(plan)[0].parameters == 1234

    items.path_of(run.folder, "development").write_text("{")
    assert collect(plan)[0].parameters is None and collect(plan)[0].found == {1: 0.8}


def test_a_training_of_several_commits_has_them_all(plan):
    (run,) = plan.runs_of(plan.cells[0])
    leave_result(run.folder, 0.8)
    record = {"commit": "b", "inputs": {}, "recovered": ["a"]}
    (run.folder / outcome.RECORD).write_text(json.dumps(record))

    found = collect(plan)[0]
    assert found.commits == ["a", "b"] and found.remarks == [
        "table1/ner_baseline, seed 1: it was interrupted once and went on, at a"
    ]


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
        "table1/snli_baseline, seed 1: metrics.json has None for test_accuracy, expected a number from 0 to 1. "
        "Remove the folder to train again."
    ]
