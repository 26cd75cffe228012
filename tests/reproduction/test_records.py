"""Copies of what trainings have left, without their weights and without the paths of a machine."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction import outcome, recovery
from elmo_plugin.reproduction.cells import cells_of
from elmo_plugin.reproduction.inputs import inputs_of
from elmo_plugin.reproduction.outcome import TrainingError
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.recorder import ItemsError
from elmo_plugin.reproduction.records import RecordsError, export
from elmo_plugin.reproduction.results import collect
from elmo_plugin.reproduction.running import run_missing
from elmo_plugin.reproduction.tunings import TuningPlan, tuned_bilms, tunings_of
from tests.reproduction.runs import leave_items, leave_result, some_items

EXPERIMENTS = Path("experiments")
#: of what is not there
KNOWN = {"data": "1", "word vectors": "2"}


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent.parent.parent)


def plan_of(folder, seeds=None, data="/my/data"):
    variables = {"SCALE": "small", "DATA": data, "SST_DATA": f"{data}/sst", "VECTORS": "/my/v.txt", "BILM": "builtin"}
    return Plan(cells_of("table1", EXPERIMENTS, ["snli"]), seeds, variables, folder, Path("/my/cache"))


@pytest.fixture
def trained(tmp_path):
    """Two seeds of entailment with and without ELMo; a third one has no scored items."""
    plan = plan_of(tmp_path / "runs", seeds=(1, 2, 3))
    for cell, score in zip(plan.cells, (0.8, 0.9)):
        for run in plan.runs_of(cell):
            leave_result(run.folder, score + run.seed / 1000, seconds=60)
            recovery.configure(run.folder, run.config, run.variables, run.changes())
            inputs = {**KNOWN, **inputs_of(run.config, run.variables)}
            record = {"commit": "abc", "command": run.command_line(), "inputs": inputs, "recovered": ["abd"]}
            (run.folder / outcome.RECORD).write_text(json.dumps(record))
            if run.seed < 3:
                leave_items(run.folder, "test", some_items([score > 0.85] * 14))
    return plan


def test_a_table_is_the_same_from_the_copies(trained, tmp_path):
    copies = export(trained, tmp_path / "copies")
    before = collect(Plan(trained.cells, (1, 2), trained.variables, trained.folder))

    assert len(copies) == 4 and not any((copy / outcome.ARCHIVE).exists() for copy in copies)
    assert collect(plan_of(tmp_path / "copies", data="other")) == before
    assert before[0].found == {1: 0.801, 2: 0.802} and "interrupted once" in " ".join(before[0].remarks)


def test_the_copies_are_trained_no_more(trained, tmp_path):
    export(trained, tmp_path / "copies")
    said = []

    assert run_missing(plan_of(tmp_path / "copies", seeds=(1, 2), data="other").jobs(), said.append) == []
    assert said == ["4 trainings, 4 of them done"]


def test_no_path_is_in_a_copy(trained, tmp_path):
    """Only names of what lies there; the command is one that works from the root of the repository."""
    copies = export(trained, tmp_path / "copies")
    texts = [path.read_text() for copy in copies for path in copy.iterdir()]

    assert len(texts) == 16
    assert not any("/my" in text or str(tmp_path) in text for text in texts)
    with_elmo = copies[-1]
    assert json.loads((with_elmo / "config.json").read_text())["train_data_path"].startswith("DATA/nli/")
    command = outcome.read_object(with_elmo / outcome.RECORD)["command"]
    start = "SCALE=small DATA=DATA SST_DATA=SST_DATA VECTORS=VECTORS BILM=builtin allennlp train"
    assert command.startswith(f"{start} experiments/table1/snli_elmo.jsonnet -s FOLDER -o")
    assert "cache" not in command and '"random_seed": 2' in command


@pytest.mark.parametrize(
    "recorded,published",
    [
        ("experiments/table3/snli_both.jsonnet", "experiments/table3/snli_both.jsonnet"),
        ("experiments/table3/snli_input.jsonnet", "experiments/table1/snli_elmo.jsonnet"),
        ("experiments/table9/snli_both.jsonnet", "experiments/table1/snli_elmo.jsonnet"),
        ("README.md", "experiments/table1/snli_elmo.jsonnet"),
    ],
)
def test_a_training_was_started_as_its_record_says(recorded, published, trained, tmp_path):
    """For another table, which has the same one; one that is another by now, gone or broken is not told."""
    run = trained.runs_of(trained.cells[1])[0]
    path = run.folder / outcome.RECORD
    command = replace(run, config=Path(recorded), overrides={"trainer.callbacks": []}).command_line()
    path.write_text(json.dumps({"commit": "abc", "command": command, "inputs": {"data": "1"}}))

    copy = next(copy for copy in export(trained, tmp_path / "copies") if copy.parent.name == run.folder.parent.name)

    found = outcome.read_object(copy / outcome.RECORD)["command"]
    assert f"allennlp train {published} -s FOLDER -o" in found
    assert ('"trainer.callbacks": []' in found) == (recorded == published)


@pytest.mark.parametrize("command", ["", "'", "allennlp train", "train x -o", "train x -o {", "train x -o []"])
def test_a_command_that_is_none_is_made_anew(command, trained, tmp_path):
    run = trained.runs_of(trained.cells[1])[0]
    (run.folder / outcome.RECORD).write_text(json.dumps({"command": command, "inputs": {}}))

    copies = export(trained, tmp_path / "copies")

    copy = next(copy for copy in copies if copy.parent.name == run.folder.parent.name and copy.name == run.folder.name)
    assert "snli_elmo.jsonnet -s FOLDER" in outcome.read_object(copy / outcome.RECORD)["command"]


def test_tunings_are_copied_with_their_perplexities(tmp_path):
    """Of table 7, and of a table whose tasks have tuned biLMs: by where they are in the folder of the trainings."""
    variables = {**plan_of(tmp_path).variables, "BILM_DIM": "256"}
    of_tunings = TuningPlan(tunings_of(EXPERIMENTS, ["ner"]), (1,), variables, tmp_path / "runs")
    tuning, *tasks = of_tunings.jobs()
    numbers = {"perplexity": dict.fromkeys(("forward", "backward", "mean"), 9.0), "words": 5, "unknown_words": 1}
    for job in (tuning, *tasks):
        leave_result(job.run.folder, 0.9)
        recovery.configure(job.run.folder, job.run.config, job.run.variables, job.run.changes())
    for path in tuning.leaves:
        path.write_text(json.dumps({"weights": str(tmp_path), "text": [str(tmp_path)], **numbers}))
    for job in tasks:
        leave_items(job.run.folder, "test", some_items([1]))
    tuned = tuned_bilms(EXPERIMENTS, ["ner"], variables, tmp_path / "runs")
    of_cells = Plan(cells_of("table1", EXPERIMENTS, ["ner"]), (1,), variables, tmp_path / "runs", tuned=tuned)

    copies = export(of_tunings, tmp_path / "copies")
    again = export(of_cells, tmp_path / "copies")

    assert [len(list(copy.iterdir())) for copy in copies] == [5, 4, 4] and again == [copies[0], copies[2]]
    assert {"perplexity_before.json", "perplexity_after.json"} < {path.name for path in copies[0].iterdir()}
    assert json.loads((copies[0] / "perplexity_after.json").read_text()) == numbers
    bilm = json.loads((copies[2] / "config.json").read_text())["dataset_reader"]["token_indexers"]["bilm"]["weights"]
    assert bilm == f"RUNS/runs/{tuning.run.folder.parent.name}/1/{outcome.ARCHIVE}"
    assert not any(str(tmp_path) in path.read_text() for copy in copies for path in copy.iterdir())


def test_a_copy_is_replaced(trained, tmp_path):
    first, *_ = export(trained, tmp_path / "copies")
    (first / "items_development.json").write_text("of an earlier training")
    export(trained, tmp_path / "copies")

    assert sorted(path.name for path in first.iterdir()) == [
        "config.json",
        "items_test.json",
        "metrics.json",
        "run.json",
    ]


@pytest.mark.parametrize("name", [outcome.METRICS, outcome.RECORD, "items_test.json", "items_development.json"])
def test_nothing_damaged_is_copied(name, trained, tmp_path):
    """And no older copy is lost."""
    copies = export(trained, tmp_path / "copies")
    before = [sorted(path.name for path in copy.iterdir()) for copy in copies]
    (trained.runs_of(trained.cells[1])[0].folder / name).write_text("{")
    with pytest.raises((TrainingError, ItemsError), match="not the results of a training|not scored items"):
        export(trained, tmp_path / "copies")

    assert [sorted(path.name for path in copy.iterdir()) for copy in copies] == before


def test_what_was_trained_under_a_wrong_name_is_not_copied(trained, tmp_path):
    """By an experiment that was changed while its command ran."""
    run = trained.runs_of(trained.cells[1])[0]
    recovery.configure(run.folder, run.config, run.variables, '{"model.dropout": 0.25}')

    with pytest.raises(RecordsError, match="config.json is not that of experiments/table1/snli_elmo.jsonnet, by which"):
        export(trained, tmp_path / "copies")
    assert not (tmp_path / "copies").exists()


def test_a_training_in_progress_beside_the_copies_is_left_alone(trained, tmp_path):
    run = trained.runs_of(trained.cells[1])[0]
    part = tmp_path / "copies" / run.folder.parent.name / f"{run.folder.name}.part"
    part.mkdir(parents=True)
    (part / "model_state_e1_b0.th").write_text("")

    export(trained, tmp_path / "copies")

    assert (part / "model_state_e1_b0.th").exists()


def test_a_full_disk_leaves_the_older_copies(trained, tmp_path, monkeypatch):
    copies = export(trained, tmp_path / "copies")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recovery, "configure", fail)
    with pytest.raises(OSError):
        export(trained, tmp_path / "copies")
    assert all((copy / outcome.METRICS).exists() for copy in copies)


def test_no_training_with_its_weights_is_replaced(trained, tmp_path):
    elsewhere = tmp_path / "others" / trained.runs_of(trained.cells[1])[0].folder.relative_to(trained.folder)
    leave_result(elsewhere, 0.7)
    with pytest.raises(RecordsError, match="is a training with its weights"):
        export(trained, tmp_path / "others")

    assert list((tmp_path / "others").glob("*/*")) == [elsewhere] and outcome.is_finished(elsewhere)


def test_trainings_are_not_their_own_copies(trained, tmp_path):
    with pytest.raises(RecordsError, match="expected another folder"):
        export(trained, tmp_path / "copies" / ".." / "runs")


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_a_damaged_configuration_is_named(content, trained, tmp_path):
    (path, *_) = sorted(trained.folder.rglob("config.json"))
    path.write_bytes(content)

    with pytest.raises(outcome.TrainingError, match=str(path.parent)):
        export(trained, tmp_path / "copies")
