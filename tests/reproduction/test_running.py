"""Running what is missing, with a training that does nothing but leave its result."""

from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.reproduction import items, outcome, training
from elmo_plugin.reproduction.cells import cells_of
from elmo_plugin.reproduction.jobs import ItemsJob
from elmo_plugin.reproduction.outcome import TrainingError
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.running import run_missing, time_left
from tests.reproduction.runs import leave_items, leave_result, some_items

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "data", "VECTORS": "vectors.txt", "BILM": "builtin"}


@pytest.fixture
def trained(monkeypatch):
    """The runs that were trained; that of a configuration named *last* fails."""
    runs = []

    def train(run, keep_open):
        runs.append(run)
        if "last" in run.config.stem:
            raise TrainingError("allennlp train ended with code 1")
        leave_result(run.folder, 0.8, seconds=60.5)

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(
        training, "evaluate", lambda run, split, keep_open: leave_items(run.folder, split, some_items([1]))
    )
    return runs


def plan(folder, table="table2", seeds=(1, 2), **changes):
    return Plan(cells_of(table, EXPERIMENTS, ["snli"]), seeds, VARIABLES, folder, **changes)


def test_a_failure_stops_nothing_else_and_is_tried_again(tmp_path, trained):
    failures = run_missing(plan(tmp_path).jobs(), print)
    assert len(trained) == 8
    assert [failure.split(":")[0] for failure in failures] == [f"table2/snli_last, seed {seed}" for seed in (1, 2)]

    run_missing(plan(tmp_path).jobs(), print)
    assert len(trained) == 10


def test_a_failure_is_said_when_it_happens(tmp_path, trained):
    """Whatever may go wrong later, where the table is shown."""
    said = []

    failures = run_missing(plan(tmp_path, seeds=[1]).jobs(), said.append)

    place = said.index(f"failed: {failures[0]}")
    assert "snli_last" in said[place - 1] and place < len(said) - 1


def test_a_tuning_that_another_process_has_repeated_meanwhile_is_taken_as_it_is(tmp_path, trained):
    """Its trainings read it: it must not be taken away under them."""
    tuning, training = (ItemsJob(run, "test") for run in plan(tmp_path).runs_of(plan(tmp_path).cells[0]))
    training.needs = tuning.run.folder
    leave_result(tuning.run.folder, 0.5)
    leave_items(tuning.run.folder, "test", some_items([1]))
    archive = tuning.run.folder / outcome.ARCHIVE
    content = archive.read_bytes()
    archive.unlink()

    def another_process(said):
        if "2 trainings" in said:
            archive.write_bytes(content)

    assert run_missing([tuning, training], another_process) == []
    assert trained == [training.run]


def test_a_cell_of_two_tables_is_trained_once(tmp_path, trained):
    run_missing(plan(tmp_path).jobs(), print)
    done = len(trained)
    run_missing(plan(tmp_path, table="table3").jobs(), print)

    # "both" with lambda 0.001 is in both tables
    assert [run.config.stem for run in trained[done:]] == ["snli_output"] * 2 + ["snli_input"] * 2


def test_items_of_a_part_that_another_table_scores_are_scored_without_a_training(tmp_path, trained):
    run_missing(plan(tmp_path, table="table3").jobs(), print)
    done = len(trained)

    failures = run_missing(plan(tmp_path, table="figure2").jobs(), print)

    (cell,) = plan(tmp_path, table="figure2").cells
    assert failures == [] and len(trained) == done
    for run in plan(tmp_path).runs_of(cell):
        assert items.path_of(run.folder, "test").exists() and items.path_of(run.folder, "development").exists()


def test_items_that_cannot_be_scored_are_a_failure_that_stops_nothing(tmp_path, trained, monkeypatch):
    def evaluate(run, split, keep_open):
        raise TrainingError("allennlp elmo-tables ended with code 1")

    monkeypatch.setattr(training, "evaluate", evaluate)
    failures = run_missing(plan(tmp_path, table="table3").jobs(), print)

    assert len(trained) == len(failures) == 6
    assert all(outcome.is_finished(run.folder) for run in trained)


def test_what_another_process_trains_is_left_to_it(tmp_path, trained):
    folders = [run.folder for run in plan(tmp_path).runs_of(plan(tmp_path).cells[0])]
    folders[0].parent.mkdir(parents=True)
    lock = FileLock(folders[0].with_name("1.lock"))
    assert lock.acquire(exclusive=True)
    said = []

    run_missing(plan(tmp_path).jobs(), said.append)

    assert folders[0] not in [run.folder for run in trained]
    assert "table2/snli_baseline, seed 1: another process is at it" in said


def test_training_keeps_the_lock_where_this_process_is_killed(tmp_path, monkeypatch):
    given = []

    def train(run, keep_open):
        given.append(keep_open)
        leave_result(run.folder, 0.8)

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(training, "evaluate", lambda run, split, keep_open: given.append(keep_open))

    run_missing(plan(tmp_path, table="figure2", seeds=[1]).jobs(), print)

    assert given[0] == given[1] and len(given[0]) == FileLock.is_supported()


def test_what_is_left_takes_as_long_as_what_is_done(tmp_path):
    """The runs of a cell as its own finished ones, those of others as all finished ones; what is done takes none."""
    whole = plan(tmp_path)
    baseline, *others = [whole.runs_of(cell) for cell in whole.cells]
    runs = [run for of_cell in (baseline, *others) for run in of_cell]
    assert time_left(runs, runs) == ""

    leave_result(baseline[0].folder, 0.5, seconds=600)
    leave_result(others[0][0].folder, 0.5, seconds=3000)

    assert time_left([baseline[0], baseline[1]], runs) == ", about 10 minutes left"
    # 10 minutes, 50 minutes and four times 30
    assert time_left(runs, runs) == ", about 3:00 hours left"


def test_a_full_disk_is_a_failure_that_stops_nothing(tmp_path, trained, monkeypatch):
    def train(run, keep_open):
        trained.append(run)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training, "train", train)
    failures = run_missing(plan(tmp_path).jobs(), print)

    assert len(trained) == len(failures) == 8 and "No space left" in failures[0]


def test_what_needs_a_training_of_another_process_is_left_out(tmp_path, trained):
    first, second, *_ = plan(tmp_path).runs_of(plan(tmp_path).cells[0])
    first.folder.parent.mkdir(parents=True)
    lock = FileLock(first.folder.with_name("1.lock"))
    assert lock.acquire(exclusive=True)
    said = []

    jobs = [ItemsJob(first, "test"), ItemsJob(second, "test", needs=first.folder)]
    assert run_missing(jobs, said.append) == [] and trained == []
    assert f"table2/snli_baseline, seed 2: needs {first.folder}, which another process is at: run again" in said[-1]

    lock.release()
    other = tmp_path / "nothing"
    assert "needs" in run_missing([ItemsJob(second, "test", needs=other)], said.append)[0]


def test_nothing_that_was_scored_is_lost_where_the_weights_are_gone(tmp_path, trained):
    """As in the records of another table, which scores the other part."""
    run_missing(plan(tmp_path, table="table3", seeds=[1]).jobs(), print)
    (cell,) = plan(tmp_path, table="figure2").cells
    (run,) = plan(tmp_path, seeds=[1]).runs_of(cell)
    (run.folder / outcome.ARCHIVE).unlink()
    done = len(trained)

    (failure,) = run_missing(plan(tmp_path, table="figure2", seeds=[1]).jobs(), print)

    assert f"{run.folder} has no model.tar.gz, which the test items need: bring it back, or remove the" in failure
    assert len(trained) == done and items.path_of(run.folder, "development").exists()
    assert run_missing(plan(tmp_path, table="table3", seeds=[1]).jobs(), print) == []


def test_time_left_is_said(tmp_path, trained):
    said = []
    run_missing(plan(tmp_path, table="table3", seeds=[1]).jobs(), said.append)

    assert said[0] == "3 trainings, 0 of them done"
    assert [line.split("\n")[0] for line in said if line.startswith("Training")] == [
        "Training 1 of 3: table3/snli_output, seed 1",
        "Training 2 of 3: table3/snli_input, seed 1, about 2 minutes left",
        "Training 3 of 3: table3/snli_both, seed 1, less than two minutes left",
    ]


def test_an_experiment_that_is_being_edited_stops_no_other(tmp_path, monkeypatch):
    """With a config that jsonnet cannot read any more when its turn comes."""
    configs = tmp_path / "table2"
    configs.mkdir()
    task = EXPERIMENTS / "tasks" / "snli.libsonnet"
    for variant, where in (("baseline", "null"), ("elmo", "'input'")):
        text = f'// Cell: test accuracy 88.0.\n(import "{task}")(where={where})'
        (configs / f"snli_{variant}.jsonnet").write_text(text)
    jobs = Plan(cells_of("table2", tmp_path), (1,), VARIABLES, tmp_path / "runs").jobs()
    begun = []
    monkeypatch.setattr(
        training, "_train_into", lambda part, begun_, run, *_: begun.append(run.name) or leave_part(part, begun_)
    )
    monkeypatch.setattr(
        training, "evaluate", lambda run, split, keep_open: leave_items(run.folder, split, some_items([1]))
    )
    with (configs / "snli_baseline.jsonnet").open("a") as file:
        file.write("{")

    (failure,) = run_missing(jobs, print)

    assert "snli_baseline, seed 1: " in failure and "STATIC ERROR" in failure
    assert begun == ["table2/snli_elmo, seed 1"]


def leave_part(part, begun):
    leave_result(part, 0.8)
    begun.write_text('{"inputs": {}}')
