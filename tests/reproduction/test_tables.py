"""Running what is missing, with a training that does nothing but leave its result."""

import json
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.reproduction import print_table, tables, training
from elmo_plugin.reproduction.cells import Cell, cells_of
from elmo_plugin.reproduction.tables import Plan, Row, collect, run_missing
from elmo_plugin.reproduction.training import TrainingError

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "data", "VECTORS": "vectors.txt", "BILM": "builtin"}


@pytest.fixture
def trained(monkeypatch):
    """The runs that were trained; that of a configuration named *last* fails."""
    runs = []

    def train(run):
        runs.append(run)
        if "last" in run.config.stem:
            raise TrainingError("allennlp train ended with code 1")
        run.folder.mkdir(parents=True)
        (run.folder / training.ARCHIVE).write_text("")
        (run.folder / "config.json").write_text(json.dumps({"trainer": {"validation_metric": "+accuracy"}}))
        metrics = {"best_validation_accuracy": 0.8 + run.seed / 100, "training_duration": "0:01:00.5"}
        (run.folder / training.METRICS).write_text(json.dumps(metrics))

    monkeypatch.setattr(tables.training, "train", train)
    return runs


def plan(folder, table="table2", seeds=(1, 2), **changes):
    return Plan(cells_of(table, EXPERIMENTS, ["snli"]), seeds, VARIABLES, folder, **changes)


def test_a_failure_stops_nothing_else_and_is_tried_again(tmp_path, trained):
    failures = run_missing(plan(tmp_path), print)
    assert len(trained) == 8
    assert [failure.split(":")[0] for failure in failures] == [f"table2/snli_last, seed {seed}" for seed in (1, 2)]

    run_missing(plan(tmp_path), print)
    assert len(trained) == 10


def test_a_cell_of_two_tables_is_trained_once(tmp_path, trained):
    run_missing(plan(tmp_path), print)
    done = len(trained)
    run_missing(plan(tmp_path, table="table3"), print)

    # "both" with lambda 0.001 is in both tables
    assert [run.config.stem for run in trained[done:]] == ["snli_output"] * 2 + ["snli_input"] * 2


def test_what_another_process_trains_is_left_to_it(tmp_path, trained):
    folders = [run.folder for run in plan(tmp_path).runs_of(plan(tmp_path).cells[0])]
    folders[0].parent.mkdir(parents=True)
    lock = FileLock(folders[0].with_name("1.lock"))
    assert lock.acquire(exclusive=True)
    said = []

    run_missing(plan(tmp_path), said.append)

    assert folders[0] not in [run.folder for run in trained]
    assert "table2/snli_baseline, seed 1: another process is at it" in said


def test_cache_is_for_elmo_alone(tmp_path):
    with_cache = plan(tmp_path, cache=tmp_path / "cache")
    overrides = {cell.variant: with_cache.runs_of(cell)[0].overrides for cell in with_cache.cells}

    assert overrides.pop("baseline") == {}
    assert all(value == {tables.CACHE_KEY: str(tmp_path / "cache")} for value in overrides.values())


def test_what_is_collected(tmp_path, trained):
    run_missing(plan(tmp_path), print)

    rows = {row.cell.variant: row for row in collect(plan(tmp_path))}

    assert rows["baseline"].found == [pytest.approx(0.81), pytest.approx(0.82)]
    assert str(rows["baseline"].score) == "81.5 ± 0.7"
    assert rows["baseline"].seconds == pytest.approx(60.5)
    assert rows["last"].score is None


def test_table_without_any_result_shows_the_paper(tmp_path):
    rows = [
        Row(Cell(Path("x"), "ner", kind, "test", score), [], None)
        for kind, score in (("baseline", 90.0), ("elmo", 92.0))
    ]

    assert print_table.lines(rows)[1] == ["ner", "elmo", "test", "", "", "", "", "92", "+2.0", "-20.0%", ""]
    paths = print_table.write("A title", rows, tmp_path, "table1")
    assert [path.name for path in paths] == ["table1.md", "table1.csv"]
    assert paths[1].read_text().splitlines()[1] == "ner,baseline,test,,,,,90,,,"
