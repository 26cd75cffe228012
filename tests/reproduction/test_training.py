"""Tests of running `allennlp train`; a real run is in tests/experiments."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest

from elmo_plugin.reproduction import training
from elmo_plugin.reproduction.training import Run, TrainingError

RUN = Run(Path("experiments/a b.jsonnet"), 7, Path("runs/x"), {"SST_DATA": "my data"})


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> List[Dict[str, Any]]:
    """Take the calls of subprocesses, the first of which leaves a file and succeeds; the others leave it and fail."""
    taken: List[Dict[str, Any]] = []

    def run(command: List[str], env: Dict[str, str], pass_fds: Sequence[int]) -> subprocess.CompletedProcess:
        taken.append({"command": command, "env": env, "pass_fds": pass_fds})
        if "-s" in command:
            folder = Path(command[command.index("-s") + 1])
            folder.mkdir(parents=True, exist_ok=True)
            (folder / training.METRICS).write_text(f"of call {len(taken)}")
        return subprocess.CompletedProcess(command, len(taken) - 1)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training.subprocess, "run", run)
    monkeypatch.setattr(training.machine, "commit", lambda: "abc123")
    monkeypatch.setattr(training, "inputs_of", lambda config, variables: {"data": variables["SST_DATA"]})
    monkeypatch.setattr(
        training, "resolve", lambda config, variables: {"validation_data_path": "d", "test_data_path": "t"}
    )
    return taken


def test_command_line_can_be_pasted_into_a_shell() -> None:
    """It names the variables, and quotes what a shell would take apart."""
    assert RUN.command_line() == (
        "SST_DATA='my data' allennlp train 'experiments/a b.jsonnet' -s runs/x --force "
        '-o \'{"random_seed": 7, "numpy_seed": 7, "pytorch_seed": 7}\''
    )


def test_train_runs_that_command(calls: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same Python runs it, with the variables beside those that are there."""
    monkeypatch.setenv("OTHER", "kept")
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    training.train(RUN, keep_open=(7,))

    assert calls[0]["command"][:3] == [sys.executable, "-m", "elmo_plugin"]
    assert calls[0]["command"][3:9] == RUN.arguments(Path("runs/x.part"))[:6]
    assert calls[0]["pass_fds"] == (7,)
    assert {"SST_DATA": "my data", "OTHER": "kept", "ALLENNLP_LOG_LEVEL": "WARNING"}.items() <= calls[0]["env"].items()


def test_train_reports_a_failure(calls: List[Dict[str, Any]]) -> None:
    """The message names the code and the command."""
    training.train(RUN)

    with pytest.raises(TrainingError, match=r"ended with code 1; .* SST_DATA='my data' allennlp train"):
        training.train(RUN)


def test_results_appear_when_they_are_complete(calls: List[Dict[str, Any]]) -> None:
    """A training that fails leaves what an earlier one has brought, and its own beside it."""
    training.train(RUN)
    with pytest.raises(TrainingError):
        training.train(RUN)

    assert (RUN.folder / training.METRICS).read_text() == "of call 1"
    assert Path("runs/x.part", training.METRICS).read_text() == "of call 2"
    record = json.loads((RUN.folder / training.RECORD).read_text())
    assert record == {"commit": "abc123", "command": RUN.command_line(), "inputs": {"data": "my data"}}


def test_what_an_old_training_left_unfinished_makes_way(calls: List[Dict[str, Any]]) -> None:
    """A folder without a result, as a training by hand that was stopped leaves it."""
    RUN.folder.mkdir(parents=True)
    (RUN.folder / "out.log").write_text("")

    training.train(RUN)

    assert sorted(path.name for path in RUN.folder.iterdir()) == [training.METRICS, training.RECORD]


def leave_unfinished(is_whole: bool = False, data: str = "my data") -> None:
    """What a training leaves whose process, or whose parent, was killed."""
    part = Path("runs/x.part")
    part.mkdir(parents=True)
    (part / "training_state_e1_b0.th").write_text("")
    Path("runs/x.run.json").write_text(json.dumps({"commit": "old", "command": "", "inputs": {"data": data}}))
    (part / "weights.th").write_bytes(b"x" * 10_000)
    with tarfile.open(part / training.ARCHIVE, "w:gz") as archive:
        archive.add(part / "weights.th", "weights.th")
    (part / training.METRICS).write_text("of the old one")
    if not is_whole:
        content = (part / training.ARCHIVE).read_bytes()
        (part / training.ARCHIVE).write_bytes(content[: len(content) // 2])


def test_a_training_that_outlived_its_parent_is_taken_as_it_is(calls: List[Dict[str, Any]]) -> None:
    leave_unfinished(is_whole=True)

    training.train(RUN)

    assert calls == [] and (RUN.folder / training.METRICS).read_text() == "of the old one"
    assert json.loads((RUN.folder / training.RECORD).read_text())["commit"] == "old"
    assert sorted(path.name for path in RUN.folder.parent.iterdir()) == ["x"]


def test_a_training_that_was_killed_goes_on_and_says_so(calls: List[Dict[str, Any]]) -> None:
    leave_unfinished()

    training.train(RUN)

    assert "--recover" in calls[0]["command"] and "--force" not in calls[0]["command"]
    record = json.loads((RUN.folder / training.RECORD).read_text())
    assert (record["commit"], record["recovered"]) == ("old", ["abc123"])


def test_a_training_on_other_data_begins_anew(calls: List[Dict[str, Any]]) -> None:
    leave_unfinished(data="other data")

    training.train(RUN)

    assert "--force" in calls[0]["command"]
    record = json.loads((RUN.folder / training.RECORD).read_text())
    assert (record["commit"], "recovered" in record) == ("abc123", False)


@pytest.mark.parametrize(
    "best,last,trainer,is_short",
    [
        (8, 9, {"num_epochs": 10, "patience": 2}, True),
        (7, 9, {"num_epochs": 10, "patience": 2}, False),
        (5, 7, {"num_epochs": 10, "patience": 2}, False),
        (9, 9, {"num_epochs": 10}, True),
        (8, 9, {"num_epochs": 10}, False),
    ],
)
def test_what_was_cut_short(best: int, last: int, trainer: Dict[str, int], is_short: bool) -> None:
    """The cap came before the patience was at its end."""
    assert bool(training.cut_short({"best_epoch": best, "epoch": last}, trainer)) == is_short


def test_items_are_scored_by_a_process_too(calls: List[Dict[str, Any]]) -> None:
    """Its failure names the command."""
    training.evaluate(RUN, "development")

    assert calls[0]["command"][3:] == ["elmo-tables", "items", "runs/x", "--split", "development", "--data", "d"]
    with pytest.raises(
        TrainingError, match="code 1; .* It was: allennlp elmo-tables items runs/x --split test --data t"
    ):
        training.evaluate(RUN, "test")


def test_text_is_scored_by_a_process_too(calls: List[Dict[str, Any]]) -> None:
    """With the variables of the run, which say where the text is."""
    training.score_text(RUN, "a biLM", Path("out.json"), keep_open=(7,))

    expected = ["elmo-perplexity", "a biLM", "--like", "experiments/a b.jsonnet", "--output", "out.json"]
    assert calls[0]["command"][3:9] == expected
    assert calls[0]["env"]["SST_DATA"] == "my data" and calls[0]["pass_fds"] == (7,)


def test_a_result_is_what_the_best_epoch_scores(tmp_path: Path) -> None:
    """By the score that the training is validated by; the commit is known where there is a record."""
    metrics = {"best_validation_f1": 0.5, "test_f1": 0.25, "training_duration": "0:00:02"}
    (tmp_path / training.METRICS).write_text(json.dumps(metrics))
    (tmp_path / "config.json").write_text(json.dumps({"trainer": {"validation_metric": "+f1"}}))
    result = training.collect(tmp_path)

    assert (result.score("test"), result.score("development"), result.seconds) == (0.25, 0.5, 2.0)
    assert result.commit is None and result.mixes == []
    (tmp_path / training.RECORD).write_text(json.dumps({"commit": "abc", "command": ""}))
    assert training.collect(tmp_path).commit == "abc"


def test_a_training_is_finished_when_metrics_and_archive_are_there(tmp_path: Path) -> None:
    """One that was cut off has no archive, or none of the metrics."""
    assert not training.is_finished(tmp_path)
    (tmp_path / training.METRICS).write_text(json.dumps({}))
    assert not training.is_finished(tmp_path)
    (tmp_path / training.ARCHIVE).write_bytes(b"")
    assert training.is_finished(tmp_path)


@pytest.mark.parametrize(
    "duration, seconds",
    [("0:03:06.537768", 186.537768), ("12:00:00", 43200), ("1 day, 0:00:01", 86401), ("2 days, 1:00:00.5", 176400.5)],
)
def test_durations(duration: str, seconds: float) -> None:
    """As Python writes a timedelta."""
    assert training.seconds_of(duration) == pytest.approx(seconds)


def test_other_durations_are_refused() -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="duration is '3 min', expected"):
        training.seconds_of("3 min")


@pytest.mark.parametrize(
    "number,config,places",
    [
        (1, {"encoder": {"type": "lstm"}}, ["input"]),
        (1, {"encoder": {"type": "elmo_output"}}, ["output"]),
        (2, {"encoder": {"type": "elmo_output"}}, ["input", "output"]),
    ],
)
def test_where_a_mix_goes(number: int, config: Dict[str, Any], places: List[str]) -> None:
    pytest.importorskip("allennlp")
    import torch

    from elmo_plugin.token_embedders.elmo import ElmoEmbedder

    class Embedder(ElmoEmbedder):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)

        def mixing_weights(self) -> List[Dict[str, Any]]:
            return [{"gamma": 1.0}] * number

    mixes = training.mixes_of(torch.nn.Sequential(torch.nn.Linear(1, 1), Embedder()), config)

    assert mixes == [{"place": place, "gamma": 1.0} for place in places]
