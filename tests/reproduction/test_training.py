"""Tests of running `allennlp train`; a real run is in tests/experiments."""

import json
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest

from elmo_plugin.reproduction import outcome, training
from elmo_plugin.reproduction.outcome import TrainingError
from elmo_plugin.reproduction.training import Run

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
            (folder / outcome.METRICS).write_text(f"of call {len(taken)}")
        return subprocess.CompletedProcess(command, len(taken) - 1)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training.subprocess, "run", run)
    monkeypatch.setattr(training.machine, "commit", lambda: "abc123")
    monkeypatch.setattr(
        training, "inputs_of", lambda config, variables, with_fetched=True: {"data": variables["SST_DATA"]}
    )
    monkeypatch.setattr(
        training, "resolve", lambda config, variables: {"validation_data_path": "d", "test_data_path": "t"}
    )
    return taken


def test_an_experiment_that_has_changed_meanwhile_is_not_trained(
    calls: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is named by what it was."""
    monkeypatch.setattr(training, "fingerprint", lambda config, variables: "of now")

    training.train(replace(RUN, fingerprint="of now"))
    with pytest.raises(TrainingError, match="a b.jsonnet has changed since this command was started"):
        training.train(replace(RUN, fingerprint="of then"))
    assert len(calls) == 1


def test_command_line_can_be_pasted_into_a_shell() -> None:
    """It names the variables, quotes what a shell would take apart, and is no danger to what is there."""
    assert RUN.command_line() == (
        "SST_DATA='my data' allennlp train 'experiments/a b.jsonnet' -s FOLDER "
        '-o \'{"random_seed": 7, "numpy_seed": 7, "pytorch_seed": 7}\''
    )


def test_train_runs_that_command(calls: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same Python runs it, with the variables beside those that are there."""
    monkeypatch.setenv("OTHER", "kept")
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    training.train(RUN, keep_open=(7,))

    assert calls[0]["command"][:3] == [sys.executable, "-m", "elmo_plugin"]
    assert calls[0]["command"][3:9] == ["train", "experiments/a b.jsonnet", "-s", "runs/x.part", "--force", "-o"]
    assert calls[0]["pass_fds"] == (7,)
    assert {
        "SST_DATA": "my data",
        "OTHER": "kept",
        "ALLENNLP_LOG_LEVEL": "WARNING",
        "PYTHONUTF8": "1",
    }.items() <= calls[0]["env"].items()


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

    assert (RUN.folder / outcome.METRICS).read_text() == "of call 1"
    assert Path("runs/x.part", outcome.METRICS).read_text() == "of call 2"
    record = json.loads((RUN.folder / outcome.RECORD).read_text())
    assert record == {"commit": "abc123", "command": RUN.command_line(), "inputs": {"data": "my data"}}


def test_what_an_old_training_left_unfinished_makes_way(calls: List[Dict[str, Any]]) -> None:
    """A folder without a result, as a training by hand that was stopped leaves it."""
    RUN.folder.mkdir(parents=True)
    (RUN.folder / "out.log").write_text("")

    training.train(RUN)

    assert sorted(path.name for path in RUN.folder.iterdir()) == [outcome.METRICS, outcome.RECORD]


def leave_unfinished(is_whole: bool = False, data: str = "my data") -> None:
    """What a training leaves whose process, or whose parent, was killed, and its experiment."""
    RUN.config.parent.mkdir()
    RUN.config.write_text("{}")
    part = Path("runs/x.part")
    part.mkdir(parents=True)
    for kind in ("model_state_e1_b0", "training_state_e1_b0", "process_state_e1_b0_w0"):
        (part / f"{kind}.th").write_text("")
    Path("runs/x.run.json").write_text(json.dumps({"commit": "old", "command": "", "inputs": {"data": data}}))
    (part / "weights.th").write_bytes(b"x" * 10_000)
    with tarfile.open(part / outcome.ARCHIVE, "w:gz") as archive:
        archive.add(part / "weights.th", "weights.th")
    (part / outcome.METRICS).write_text("of the old one")
    if not is_whole:
        content = (part / outcome.ARCHIVE).read_bytes()
        (part / outcome.ARCHIVE).write_bytes(content[: len(content) // 2])


def test_a_training_that_outlived_its_parent_is_taken_as_it_is(calls: List[Dict[str, Any]]) -> None:
    leave_unfinished(is_whole=True)

    training.train(RUN)

    assert calls == [] and (RUN.folder / outcome.METRICS).read_text() == "of the old one"
    assert json.loads((RUN.folder / outcome.RECORD).read_text())["commit"] == "old"
    assert sorted(path.name for path in RUN.folder.parent.iterdir()) == ["x"]


def test_a_training_that_was_killed_goes_on_and_says_so(calls: List[Dict[str, Any]]) -> None:
    leave_unfinished()

    training.train(RUN)

    assert "--recover" in calls[0]["command"] and "--force" not in calls[0]["command"]
    record = json.loads((RUN.folder / outcome.RECORD).read_text())
    assert (record["commit"], record["recovered"]) == ("old", ["abc123"])
    assert record["command"] == RUN.command_line()


@pytest.mark.parametrize("name", [outcome.METRICS, outcome.ARCHIVE])
def test_what_an_earlier_end_has_left_is_gone_when_a_training_goes_on(
    name: str, calls: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is killed between its new metrics and its new archive, the old one beside them would pass for it."""
    leave_unfinished()
    found = []
    monkeypatch.setattr(training, "_allennlp", lambda *arguments: found.append(Path("runs/x.part", name).exists()))

    training.train(RUN)

    assert found == [False]


def test_what_is_fetched_by_a_training_is_recorded_behind_it(
    calls: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be newer than what was there before; files of one's own are as they were then."""

    def inputs_of(config: Path, variables: Dict[str, str], with_fetched: bool = True) -> Dict[str, str]:
        return {"data": f"after {len(calls)}", **({"biLM": f"after {len(calls)}"} if with_fetched else {})}

    monkeypatch.setattr(training, "inputs_of", inputs_of)

    training.train(RUN)

    assert json.loads((RUN.folder / outcome.RECORD).read_text())["inputs"] == {"data": "after 0", "biLM": "after 1"}


@pytest.mark.parametrize("is_known", [True, False])
def test_what_an_older_training_has_left_is_gone_before_another_begins(
    is_known: bool, calls: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at its start, it would go on from weights of other data, or of nobody knows what."""
    leave_unfinished(is_whole=not is_known, data="other data")
    if not is_known:
        Path("runs/x.run.json").unlink()

    def fail(*arguments: Any) -> None:
        raise TrainingError("killed")

    with monkeypatch.context() as patch, pytest.raises(TrainingError):
        patch.setattr(training, "_allennlp", fail)
        training.train(RUN)
    training.train(RUN)

    assert "--force" in calls[0]["command"] and (RUN.folder / outcome.METRICS).read_text() == "of call 1"


@pytest.mark.parametrize("content", ["", "{}", '{"inputs": 1}'])
def test_a_whole_training_whose_record_is_damaged_is_named(content: str, calls: List[Dict[str, Any]]) -> None:
    leave_unfinished(is_whole=True)
    Path("runs/x.run.json").write_text(content)

    with pytest.raises(TrainingError, match="x.run.json: not what is known about a training that began"):
        training.train(RUN)
    assert Path("runs/x.part", outcome.METRICS).exists()


def test_a_training_on_other_data_begins_anew(calls: List[Dict[str, Any]]) -> None:
    leave_unfinished(data="other data")

    training.train(RUN)

    assert "--force" in calls[0]["command"]
    record = json.loads((RUN.folder / outcome.RECORD).read_text())
    assert (record["commit"], "recovered" in record) == ("abc123", False)


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


def test_a_training_that_another_checkpointer_kept_begins_anew(calls: List[Dict[str, Any]]) -> None:
    """AllenNLP's files may be half-written."""
    leave_unfinished()
    Path("runs/x.part/process_state_e1_b0_w0.th").unlink()

    training.train(RUN)

    assert "--force" in calls[0]["command"]


def test_a_training_goes_on_with_other_paths_and_options(calls: List[Dict[str, Any]], tmp_path: Path) -> None:
    """AllenNLP would refuse a configuration that is not the one of the folder: that of now takes its place."""
    leave_unfinished()
    Path("runs/x.part/config.json").write_text("{}")
    RUN.config.write_text('{ data: std.extVar("SST_DATA"), model: { hidden: 1 } }')

    training.train(replace(RUN, overrides={"model.cache": "there"}))

    assert json.loads((RUN.folder / "config.json").read_text()) == {
        **{"data": "my data", "model": {"hidden": 1, "cache": "there"}},
        **{"random_seed": 7, "numpy_seed": 7, "pytorch_seed": 7},
    }


def test_a_training_that_cannot_go_on_says_what_to_remove(calls: List[Dict[str, Any]]) -> None:
    training.train(RUN)
    leave_unfinished()

    with pytest.raises(TrainingError, match="ended with code 1; .* to begin anew remove runs/x.part"):
        training.train(RUN)


@pytest.mark.parametrize("content", ["[]", '{"comm', "{}", '{"inputs": null}'])
def test_a_record_that_is_none_is_named(content: str, calls: List[Dict[str, Any]]) -> None:
    leave_unfinished()
    Path("runs/x.run.json").write_text(content)

    with pytest.raises(TrainingError, match="x.run.json: not what is known about a training that began .* Remove it"):
        training.train(RUN)
    assert calls == []


@pytest.mark.parametrize("line", ["copyfile", "rmtree", "rename", "unlink"])
def test_a_kill_while_results_are_put_in_place_loses_nothing(
    line: str, calls: List[Dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each step of it, with an older unfinished folder there."""
    leave_unfinished(is_whole=True)
    RUN.folder.mkdir()

    class Killed(BaseException):
        pass

    def kill(*arguments: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(shutil if line in ("copyfile", "rmtree") else Path, line, kill)
        training.train(RUN)
    if not outcome.is_finished(RUN.folder):  # whoever runs a table asks
        training.train(RUN)

    assert calls == [] and (RUN.folder / outcome.METRICS).read_text() == "of the old one"
    assert json.loads((RUN.folder / outcome.RECORD).read_text())["commit"] == "old"
