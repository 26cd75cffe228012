"""What a training leaves in its folder."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from elmo_plugin.adapters.durations import seconds_of
from elmo_plugin.benchmark.machine import short
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats.layer_mixes import places
from elmo_plugin.formats.tar_members import take_out
from elmo_plugin.reproduction.named import kinds_of

METRICS = "metrics.json"
ARCHIVE = "model.tar.gz"
#: what is known about a training beside what AllenNLP writes
RECORD = "run.json"
#: of a score in `metrics.json`, by the part of the data
PREFIXES = {"test": "test_", "development": "best_validation_"}
#: the key of a configuration that names the data of a part
DATA_KEYS = {"test": "test_data_path", "development": "validation_data_path"}


class TrainingError(RuntimeError):
    """A training ended without a result, or what it has left cannot be read."""


@dataclass(frozen=True)
class Result:
    """
    What a training left in its folder.

    # Parameters

    metrics : of AllenNLP: `best_validation_accuracy`, `test_accuracy`, ...
    seconds : the training took, without the start of the program and the evaluation on the test set.
    mixes : of ELMo layers, where they were asked for; as `mixes_of` returns them.
    commits : of this package when the training began, and others with which it went on; none where that is not known.
    validated_by : the name of the score that chose the best epoch.
    inputs : what the training has read, as `inputs_of` says it; empty where that is not known.
    remark : what to know about the training before its score is believed; empty where there is nothing.
    """

    metrics: Mapping[str, Any]
    seconds: float
    mixes: Sequence[Dict[str, Any]] = ()
    commits: Sequence[str] = ()
    validated_by: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""

    def score(self, split: str) -> float:
        """
        Return what the best epoch scores on the "test" or the "development" part, a fraction of one.

        # Raises

        `TrainingError` where the metrics do not say it.
        """
        name, loss = PREFIXES[split] + self.validated_by, PREFIXES[split] + "loss"
        value = self.metrics.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise TrainingError(
                f"{METRICS} has {value!r} for {name}, expected a number from 0 to 1. Remove the folder to train again."
            )
        if loss not in self.metrics:  # which AllenNLP writes where a batch had one; scores of nothing are 0 without
            raise TrainingError(
                f"{METRICS} has no {loss}: nothing of the {split} part was scored. Look at the data, and remove the "
                "folder to train again."
            )
        return value


def is_finished(folder: Path) -> bool:
    """Whether a training has left its metrics and its archive there."""
    return (folder / METRICS).exists() and (folder / ARCHIVE).exists()


def is_evaluated(folder: Path) -> bool:
    """Whether a training came to its end and its metrics are there; its weights may have been removed since."""
    return (folder / METRICS).exists()


def is_whole(folder: Path) -> bool:
    """Whether a training came to its end, and its archive with it, which is written last."""
    if not is_finished(folder):
        return False
    try:
        _read_through(folder / ARCHIVE)
    except FormatError:
        return False
    return True


def _read_through(archive: Path) -> None:
    take_out(archive, {}, str(archive))  # nothing: it is read to its end


def collect(folder: Path, with_mixes: bool = False) -> Result:
    """
    Read the results of a finished training.

    # Parameters

    with_mixes : read those of ELMo layers too, for which the model is loaded.

    # Raises

    `TrainingError` where the files are not what a training leaves.
    """
    try:
        metrics, config = (read_object(folder / name) for name in (METRICS, "config.json"))
        # Trainings by hand have none.
        record = read_object(folder / RECORD) if (folder / RECORD).exists() else {}
        return Result(
            metrics,
            seconds_of(metrics["training_duration"]),
            mixes_of(load(folder / ARCHIVE).model, config["model"]) if with_mixes else [],
            _commits(record),
            validation_metric(config),
            dict(record.get("inputs", {})),
            "; ".join(
                filter(None, [cut_short(metrics, config["trainer"]), recovered(record), unrecorded(record, config)])
            ),
        )
    except FileNotFoundError as error:
        raise TrainingError(f"{folder}: {error.filename} is missing. Bring it back, or remove the folder.") from error
    except OSError as error:
        raise TrainingError(f"{folder}: cannot be read now: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainingError(
            f"{folder}: not the results of a training ({error!r}). Remove it, and run again what it was."
        ) from error


def read_object(path: Path) -> Dict[str, Any]:
    """
    Read a JSON object.

    # Raises

    `ValueError` where the file holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError(f"{path.name} is nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds a {type(content).__name__}, expected a JSON object")
    return content


def _commits(record: Mapping[str, Any]) -> List[str]:
    known = [record.get("commit"), *record.get("recovered", [])]
    if not all(commit is None or isinstance(commit, str) for commit in known):
        raise ValueError(f"{RECORD} has the commits {known}")
    return list(dict.fromkeys(commit for commit in known if commit is not None))


def recovered(record: Mapping[str, Any]) -> str:
    """Say so where a training was killed, or failed, and went on; also at which other commits."""
    times = len(record.get("recovered", []))
    if not times:
        return ""
    others = [short(commit) for commit in _commits(record) if commit != record.get("commit")]
    where = f", at {' and '.join(others)}" if others else ""
    return f"it was interrupted {'once' if times == 1 else f'{times} times'} and went on{where}"


def unrecorded(record: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Say so where nobody wrote down what a training has read: whether that is still the same cannot be told."""
    kinds = [kind for kind in kinds_of(config) if kind not in record.get("inputs", {})]
    return f"the content of its {_listed(kinds)} was not recorded" if kinds else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def cut_short(metrics: Mapping[str, Any], trainer: Mapping[str, Any]) -> str:
    """Say so where the last epoch was the last one allowed, and no patience was at its end: more might do better."""
    last, best = metrics.get("epoch"), metrics.get("best_epoch")
    if last is None or best is None or last + 1 < trainer.get("num_epochs", math.inf):
        return ""
    if last == 0:  # a single one was asked for, as where a biLM is tuned
        return ""
    if last - best >= (trainer.get("patience") or 1):
        return ""
    return f"the best of {last + 1} epochs is number {best + 1}: more might do better"


def validation_metric(config: Mapping[str, Any]) -> str:
    """The name of the score that a training is validated by, from its configuration."""
    return config["trainer"]["validation_metric"].lstrip("+-")


def load(archive: Path, cuda_device: int = -1) -> Any:
    """
    Load the archive of a training that ran in a process of its own, with AllenNLP's plugins.

    # Raises

    `TrainingError` where it is not there or damaged.
    """
    from allennlp.common.plugins import import_plugins
    from allennlp.models import load_archive

    if not archive.exists():
        raise TrainingError(f"{archive} is not there: expected the archive of a finished training.")
    try:
        _read_through(archive)
    except FormatError as error:
        raise TrainingError(f"{error} To train again remove {archive.parent}.") from error
    import_plugins()
    return load_archive(str(archive), cuda_device=cuda_device)


def mixes_of(model: Any, config: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """
    Say what a model has learned about the layers of its biLMs, and where each mix goes.

    # Parameters

    config : the model's configuration, by which `places` finds out where they go.

    # Returns

    `mixing_weights` of each mix, with its "place": "input" or "output" of the task's encoder.
    """
    from elmo_plugin.token_embedders.elmo import ElmoEmbedder

    found = []
    for module in model.modules():
        if isinstance(module, ElmoEmbedder):
            mixes = module.mixing_weights()
            found += [{"place": place, **mix} for place, mix in zip(places(config, len(mixes)), mixes)]
    return found
