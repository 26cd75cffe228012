"""Tests of running `allennlp train`; a real run is in tests/experiments."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

from elmo_plugin.reproduction import training
from elmo_plugin.reproduction.training import Run, TrainingError

RUN = Run(Path("experiments/a b.jsonnet"), 7, Path("runs/x"), {"SST_DATA": "my data"})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> List[Dict[str, Any]]:
    """Take the calls of subprocesses, the first of which succeeds and the others fail."""
    taken: List[Dict[str, Any]] = []

    def run(command: List[str], env: Dict[str, str]) -> subprocess.CompletedProcess:
        taken.append({"command": command, "env": env})
        return subprocess.CompletedProcess(command, len(taken) - 1)

    monkeypatch.setattr(training.subprocess, "run", run)
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
    training.train(RUN)

    assert calls[0]["command"][:3] == [sys.executable, "-m", "allennlp"]
    assert calls[0]["command"][3:9] == RUN.arguments()[:6]
    assert {"SST_DATA": "my data", "OTHER": "kept", "ALLENNLP_LOG_LEVEL": "WARNING"}.items() <= calls[0]["env"].items()


def test_train_reports_a_failure(calls: List[Dict[str, Any]]) -> None:
    """The message names the code and the command."""
    training.train(RUN)

    with pytest.raises(TrainingError, match=r"ended with code 1; .* SST_DATA='my data' allennlp train"):
        training.train(RUN)


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
