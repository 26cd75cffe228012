"""Folders as finished trainings leave them, without a training."""

import json
import tarfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Tuple

from elmo_plugin.reproduction import items, outcome
from elmo_plugin.reproduction.items import Items

MIX = {"place": "input", "layers": [0, 1, 2], "weights": [0.2, 0.7, 0.1], "gamma": 1.5}


def leave_result(
    folder: Path,
    score: float,
    seconds: float = 60.0,
    commit: Optional[str] = "0123456789abcdef",
    inputs: Optional[Dict[str, str]] = None,
    epochs: Tuple[int, int] = (0, 5),
    trainer: Optional[Dict[str, Any]] = None,
) -> None:
    """Leave a score of the test and of the development part; `epochs` are the best one and the last."""
    folder.mkdir(parents=True)
    tarfile.open(folder / outcome.ARCHIVE, "w:gz").close()
    (folder / "config.json").write_text(json.dumps({"trainer": {"validation_metric": "+accuracy", **(trainer or {})}}))
    duration = f"0:{int(seconds // 60):02}:{seconds % 60:04.1f}"
    metrics: Dict[str, Any] = {"best_validation_accuracy": score, "test_accuracy": score, "training_duration": duration}
    metrics.update(best_validation_loss=1.0, test_loss=1.0)
    metrics.update(zip(("best_epoch", "epoch"), epochs))
    (folder / outcome.METRICS).write_text(json.dumps(metrics))
    if commit is not None:
        (folder / outcome.RECORD).write_text(
            json.dumps({"commit": commit, "command": "allennlp train", "inputs": inputs or {}})
        )


def some_items(right: Sequence[int], **changes: Any) -> Items:
    """Items of an accuracy, 1 for each that is right."""
    numbers = [[float(one), 1.0] for one in right]
    known = {"score": "accuracy", "measure": "CategoricalAccuracy", "numbers": numbers, "digest": "the same"}
    known["groups"] = list(range(len(right)))
    return Items(**{**known, "parameters": {"all": 5000, "trained": 1234}, "mixes": [MIX], **changes})


def leave_items(folder: Path, split: str, of_run: Items) -> None:
    """Leave what each item scores."""
    items.path_of(folder, split).write_text(json.dumps(asdict(of_run)))
