"""What a training leaves, and what is made of it where it is broken."""

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from elmo_plugin.reproduction import outcome
from elmo_plugin.reproduction.outcome import TrainingError
from tests.reproduction.runs import leave_result


@pytest.mark.parametrize(
    "best,last,trainer,is_short",
    [
        (8, 9, {"num_epochs": 10, "patience": 2}, True),
        (7, 9, {"num_epochs": 10, "patience": 2}, False),
        (5, 7, {"num_epochs": 10, "patience": 2}, False),
        (9, 9, {"num_epochs": 10}, True),
        (8, 9, {"num_epochs": 10}, False),
        (0, 0, {"num_epochs": 1}, False),  # as a biLM is tuned
    ],
)
def test_what_was_cut_short(best: int, last: int, trainer: Dict[str, int], is_short: bool) -> None:
    """The cap came before the patience was at its end."""
    assert bool(outcome.cut_short({"best_epoch": best, "epoch": last}, trainer)) == is_short


def test_a_result_is_what_the_best_epoch_scores(tmp_path: Path) -> None:
    """By the score that the training is validated by; the commits are known where there is a record."""
    metrics = {"best_validation_f1": 0.5, "test_f1": 0.25, "training_duration": "0:00:02"}
    metrics.update(best_validation_loss=1.0, test_loss=1.0)
    (tmp_path / outcome.METRICS).write_text(json.dumps(metrics))
    (tmp_path / "config.json").write_text(json.dumps({"trainer": {"validation_metric": "+f1"}}))
    result = outcome.collect(tmp_path)

    assert (result.score("test"), result.score("development"), result.seconds) == (0.25, 0.5, 2.0)
    assert result.commits == [] and result.mixes == []
    (tmp_path / outcome.RECORD).write_text(json.dumps({"commit": "abc", "command": "", "recovered": ["b", "abc", "b"]}))
    assert outcome.collect(tmp_path).commits == ["abc", "b"]


def test_a_training_is_finished_when_metrics_and_archive_are_there(tmp_path: Path) -> None:
    """One that was cut off has no archive, or none of the metrics."""
    assert not outcome.is_finished(tmp_path)
    (tmp_path / outcome.METRICS).write_text(json.dumps({}))
    assert not outcome.is_finished(tmp_path)
    (tmp_path / outcome.ARCHIVE).write_bytes(b"")
    assert outcome.is_finished(tmp_path)


def test_a_training_without_its_weights_is_evaluated(tmp_path: Path) -> None:
    """As its published copy is; nothing else is."""
    assert not outcome.is_evaluated(tmp_path)
    leave_result(tmp_path / "run", 0.5)
    (tmp_path / "run" / outcome.ARCHIVE).unlink()
    assert outcome.is_evaluated(tmp_path / "run") and not outcome.is_finished(tmp_path / "run")


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

    mixes = outcome.mixes_of(torch.nn.Sequential(torch.nn.Linear(1, 1), Embedder()), config)

    assert mixes == [{"place": place, "gamma": 1.0} for place in places]


@pytest.mark.parametrize(
    "name,content",
    [
        (outcome.METRICS, "[1]"),
        (outcome.METRICS, '{"training_duration": 3}'),
        (outcome.RECORD, "[]"),
        (outcome.RECORD, '{"inputs": null}'),
        (outcome.RECORD, '{"commit": 5}'),
        (outcome.METRICS, "[" * 100_000),
        ("config.json", '{"trainer": []}'),
        ("config.json", '{"trainer": {"validation_metric": 1}}'),
    ],
)
def test_files_that_hold_something_else_are_refused(name: str, content: str, tmp_path: Path) -> None:
    leave_result(tmp_path / "1", 0.5)
    (tmp_path / "1" / name).write_text(content)

    with pytest.raises(TrainingError, match="1: not the results of a training .* Remove it, and run again"):
        outcome.collect(tmp_path / "1")


@pytest.mark.parametrize("score", ["null", '"0.5"', "NaN", "Infinity", "true", "1.5", "-0.1", "1" * 400])
def test_a_score_that_is_no_number_is_refused(score: str, tmp_path: Path) -> None:
    leave_result(tmp_path / "1", 0.5)
    metrics = tmp_path / "1" / outcome.METRICS
    metrics.write_text(metrics.read_text().replace('"test_accuracy": 0.5', f'"test_accuracy": {score}'))

    result = outcome.collect(tmp_path / "1")
    assert result.score("development") == 0.5
    with pytest.raises(TrainingError, match="metrics.json has .* for test_accuracy, expected a number"):
        result.score("test")


def test_a_score_of_nothing_is_refused(tmp_path: Path) -> None:
    """AllenNLP counts 0.0 where no item has a label, or there is none, and no loss."""
    leave_result(tmp_path / "1", 0.0)
    metrics = json.loads((tmp_path / "1" / outcome.METRICS).read_text())
    del metrics["test_loss"]
    (tmp_path / "1" / outcome.METRICS).write_text(json.dumps(metrics))

    result = outcome.collect(tmp_path / "1")
    assert result.score("development") == 0.0
    with pytest.raises(TrainingError, match="metrics.json has no test_loss: nothing of the test part was scored"):
        result.score("test")


def test_what_cannot_be_read_now_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told to remove it."""
    leave_result(tmp_path / "1", 0.5)

    def deny(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", deny)
        with pytest.raises(TrainingError, match="1: cannot be read now: .*Permission denied$"):
            outcome.collect(tmp_path / "1")
    with monkeypatch.context() as patch, pytest.raises(PermissionError):
        patch.setattr("tarfile.open", deny)
        outcome.is_whole(tmp_path / "1")
    (tmp_path / "1" / "config.json").unlink()
    with pytest.raises(TrainingError, match="config.json is missing. Bring it back"):
        outcome.collect(tmp_path / "1")


def test_a_training_that_was_killed_says_so(tmp_path: Path) -> None:
    leave_result(tmp_path / "1", 0.5)
    assert outcome.collect(tmp_path / "1").remark == ""
    for commits, text in (
        (["a"], "once and went on"),
        (["a", "a"], "2 times and went on"),
        (["a", "b-dirty", None, "0123456789", "b-dirty"], "5 times and went on, at b-dirty and 012345678"),
    ):
        record = {"commit": "a", "inputs": {}, "recovered": commits}
        (tmp_path / "1" / outcome.RECORD).write_text(json.dumps(record))
        assert outcome.collect(tmp_path / "1").remark == f"it was interrupted {text}"


@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        (["data", "word vectors", "biLM"], ""),
        (["data", "biLM"], "word vectors"),
        (["word vectors"], "data and biLM"),
        ([], "data, word vectors and biLM"),
        (None, "data, word vectors and biLM"),
    ],
)
def test_a_training_that_nobody_knows_the_data_of_says_so(known: Any, unknown: str, tmp_path: Path) -> None:
    """Of an older version, or by hand, or of what lay at an address."""
    leave_result(tmp_path / "1", 0.5, commit=None if known is None else "a", inputs=dict.fromkeys(known or [], "1"))
    config = json.loads((tmp_path / "1" / "config.json").read_text())
    config.update(train_data_path="a", model={"words": {"pretrained_file": "b"}, "bilm": {"weights": "c"}})
    (tmp_path / "1" / "config.json").write_text(json.dumps(config))

    remark = f"the content of its {unknown} was not recorded" if unknown else ""
    assert outcome.collect(tmp_path / "1").remark == remark


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    pytest.importorskip("allennlp")
    (tmp_path / outcome.ARCHIVE).write_bytes(b"half of it")

    with pytest.raises(TrainingError, match=f"(?s)model.tar.gz.* To train again remove {tmp_path}"):
        outcome.load(tmp_path / outcome.ARCHIVE)
    with pytest.raises(TrainingError, match="none/model.tar.gz is not there: expected the archive of a finished"):
        outcome.load(tmp_path / "none" / outcome.ARCHIVE)
