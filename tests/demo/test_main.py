"""Tests of the command of the demonstration; the trainings themselves are stood in for."""

from pathlib import Path
from typing import List

import pytest

from elmo_plugin.demo import __main__ as demo
from elmo_plugin.reproduction.outcome import Result, TrainingError
from elmo_plugin.reproduction.training import Run

MIX = {"place": "input", "layers": [0, 1, 2], "weights": [0.2, 0.5, 0.3], "gamma": 1.25}


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> List[Run]:
    """Take the trainings, which leave their folders as finished ones do."""
    runs: List[Run] = []

    def train(run: Run) -> None:
        runs.append(run)
        run.folder.mkdir(parents=True)
        (run.folder / "metrics.json").write_text("{}")
        (run.folder / "model.tar.gz").write_bytes(b"")

    def collect(folder: Path, with_mixes: bool = False) -> Result:
        accuracy = 0.8 if "elmo" in folder.name else 0.7
        metrics = {"test_accuracy": accuracy, "best_validation_accuracy": 0.5}
        return Result(metrics, 12.0, [MIX], inputs={"data": "runs/demo/data"})

    for name in ("baseline", "elmo"):
        config = tmp_path / "experiments" / "demo" / f"{name}.jsonnet"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo.training, "train", train)
    monkeypatch.setattr(demo.outcome, "collect", collect)
    monkeypatch.setattr(demo, "inputs_of", lambda config, variables: {"data": variables["SST_DATA"]})
    monkeypatch.setattr(demo.reviews, "prepare", lambda folder: {"train": 3, "dev": 1, "test": 2})
    return runs


def test_trains_both_models_on_the_reviews_and_shows_the_table(
    trained: List[Run], capsys: pytest.CaptureFixture
) -> None:
    """Each command is shown before it runs; a third fewer errors."""
    assert demo.main([]) == 0

    output = capsys.readouterr().out
    assert [run.folder.as_posix() for run in trained] == ["runs/demo/baseline-1", "runs/demo/elmo-1"]
    assert {run.variables["SST_DATA"] for run in trained} == {"runs/demo/data"}
    assert all(run.command_line() in output for run in trained)
    assert "3 train, 1 dev, 2 test" in output
    assert "-33.3%" in output


def test_other_data_other_experiments_and_seeds(trained: List[Run], tmp_path: Path) -> None:
    """The treebank takes the place of the reviews by one argument."""
    configs = [tmp_path / "a.jsonnet", tmp_path / "elmo_b.jsonnet"]
    for config in configs:
        config.write_text("{}")
    arguments = ["--data", "trees", "--seeds", "2", "--output", "out", "--configs", *map(str, configs)]

    assert demo.main(arguments) == 0
    assert [(run.folder.name, run.seed) for run in trained] == [
        ("a-1", 1),
        ("elmo_b-1", 1),
        ("a-2", 2),
        ("elmo_b-2", 2),
    ]
    assert {run.variables["SST_DATA"] for run in trained} == {"trees"}


def test_resume_keeps_finished_trainings(trained: List[Run], capsys: pytest.CaptureFixture) -> None:
    """Those that were cut off are done again."""
    demo.main([])
    (trained[1].folder / "metrics.json").unlink()
    (trained[1].folder / "model.tar.gz").unlink()
    trained[1].folder.rmdir()

    assert demo.main(["--resume"]) == 0
    assert [run.folder.name for run in trained[2:]] == ["elmo-1"]
    assert "already done, in runs/demo/baseline-1" in capsys.readouterr().out


def test_resume_keeps_no_training_on_other_data(trained: List[Run], capsys: pytest.CaptureFixture) -> None:
    """Its score would be printed as that of these."""
    demo.main([])

    assert demo.main(["--resume", "--data", "trees"]) == 1
    assert "runs/demo/baseline-1: data are not those of this training. Give another" in capsys.readouterr().err
    assert len(trained) == 2


def test_a_failed_training_fails_the_command(
    trained: List[Run], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """The exit code says so, and no table is shown."""

    def fail(run: Run) -> None:
        raise TrainingError("it ended with code 1")

    monkeypatch.setattr(demo.training, "train", fail)

    assert demo.main([]) == 1
    captured = capsys.readouterr()
    assert captured.err == "error: it ended with code 1\n"
    assert "Result" not in captured.out


def test_elsewhere_it_says_where_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """The experiments are in the repository, not in the package."""
    monkeypatch.chdir(tmp_path)

    assert demo.main([]) == 1
    assert "Run this from the root of the repository" in capsys.readouterr().err


def test_no_seeds_are_refused(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--seeds", "0"])
    assert "--seeds is 0, expected 1 or more" in capsys.readouterr().err
