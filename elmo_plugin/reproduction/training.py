"""Run `allennlp train` and collect what came out."""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from elmo_plugin.benchmark import machine
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats.atomic import replacing
from elmo_plugin.formats.layer_mixes import places
from elmo_plugin.formats.tar_members import take_out
from elmo_plugin.reproduction.cells import resolve
from elmo_plugin.reproduction.inputs import changed, inputs_of

METRICS = "metrics.json"
ARCHIVE = "model.tar.gz"
#: what is known about a training beside what AllenNLP writes
RECORD = "run.json"
#: of a score in `metrics.json`, by the part of the data
PREFIXES = {"test": "test_", "development": "best_validation_"}
#: the key of a configuration that names the data of a part
DATA_KEYS = {"test": "test_data_path", "development": "validation_data_path"}


class TrainingError(RuntimeError):
    """A training ended without a result."""


@dataclass(frozen=True)
class Run:
    """
    One training.

    # Parameters

    config : the experiment.
    seed : of all random numbers.
    folder : where the results go.
    variables : those that the experiment reads, such as the folder of its data.
    overrides : parameters of the configuration that are set beside the seeds, by their dotted names.
    """

    config: Path
    seed: int
    folder: Path
    variables: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The experiment and the seed, for people."""
        return f"{self.config.parent.name}/{self.config.stem}, seed {self.seed}"

    def arguments(self, folder: Optional[Path] = None, recover: bool = False) -> List[str]:
        """
        Return the arguments of the `allennlp` program; `folder` is another one for the results, and with `recover` it
        goes on with what is there.
        """
        seeds = dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), self.seed)
        return [
            "train",
            str(self.config),
            "-s",
            str(folder or self.folder),
            "--recover" if recover else "--force",
            "-o",
            json.dumps({**seeds, **self.overrides}),
        ]

    def command_line(self) -> str:
        """Return what a person types for this."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*variables, "allennlp", *map(shlex.quote, self.arguments())])


@dataclass(frozen=True)
class Result:
    """
    What a training left in its folder.

    # Parameters

    metrics : of AllenNLP: `best_validation_accuracy`, `test_accuracy`, ...
    seconds : the training took, without the start of the program and the evaluation on the test set.
    mixes : of ELMo layers, where they were asked for; as `mixes_of` returns them.
    commit : of this package when the training began; None where that is not known.
    validated_by : the name of the score that chose the best epoch.
    inputs : what the training has read, as `inputs_of` says it; empty where that is not known.
    remark : what to know about the training before its score is believed; empty where there is nothing.
    """

    metrics: Mapping[str, Any]
    seconds: float
    mixes: Sequence[Dict[str, Any]] = ()
    commit: Optional[str] = None
    validated_by: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""

    def score(self, split: str) -> float:
        """Return what the best epoch scores on the "test" or the "development" part, a fraction of one."""
        return self.metrics[PREFIXES[split] + self.validated_by]


def train(run: Run, is_quiet: bool = True, keep_open: Sequence[int] = ()) -> None:
    """
    Train, in a process of its own, which shows its progress.

    The results appear in the run's folder all at once, when the training is done; until then they are in a folder
    beside it whose name ends in ".part". A training that was killed goes on behind its last epoch, with other random
    numbers than if it had not been, which `run.json` says; one that went on to its end after this process was killed is
    taken as it is.

    # Parameters

    is_quiet : leave out what AllenNLP reports about its parameters; warnings and progress are shown.
    keep_open : descriptors of files that the process inherits: a lock is then held until the training ends, also where
        the process that took it is killed.

    # Raises

    `TrainingError` where the program fails.
    """
    part = run.folder.with_name(run.folder.name + ".part")
    begun = run.folder.with_name(f"{run.folder.name}.{RECORD}")
    if not (begun.exists() and _is_whole(part)):
        record = _record(run, part, begun)
        run.folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing(begun) as new:
            new.write_text(json.dumps(record, indent=2), encoding="utf-8")
        _allennlp(run.arguments(part, recover="recovered" in record), run, is_quiet, keep_open)
    begun.replace(part / RECORD)
    if run.folder.exists():
        shutil.rmtree(run.folder)
    part.rename(run.folder)


def _record(run: Run, part: Path, begun: Path) -> Dict[str, Any]:
    """What is to be known about a training that begins; "recovered" where it goes on from what is left of one."""
    commit, inputs = machine.commit(), inputs_of(run.config, run.variables)
    if begun.exists() and any(part.glob("training_state_*")):
        record = _read(begun)
        if not changed(record["inputs"], inputs):
            return {**record, "recovered": [*record.get("recovered", []), commit]}
    return {"commit": commit, "command": run.command_line(), "inputs": inputs}


def _is_whole(folder: Path) -> bool:
    """Whether a training came to its end, and its archive with it, which is written last."""
    if not is_finished(folder):
        return False
    try:
        take_out(folder / ARCHIVE, {}, str(folder / ARCHIVE))  # nothing: it is read to its end
    except FormatError:
        return False
    return True


def evaluate(run: Run, split: str, keep_open: Sequence[int] = ()) -> None:
    """
    Score the items of a part of the data by the model of a finished training, in a process of its own.

    # Raises

    `TrainingError` where the program fails.
    """
    data = resolve(run.config, run.variables)[DATA_KEYS[split]]
    _allennlp(["elmo-tables", "items", str(run.folder), "--split", split, "--data", data], run, True, keep_open)


def score_text(run: Run, bilm: str, output: Path, keep_open: Sequence[int] = ()) -> None:
    """
    Score the held-out text of a run that tunes a biLM, in a process of its own.

    # Parameters

    bilm : that predicts the text: the archive of the run, for example.
    output : what `allennlp elmo-perplexity` writes its numbers to.

    # Raises

    `TrainingError` where the program fails.
    """
    import torch

    device = "0" if torch.cuda.is_available() else "-1"
    arguments = ["elmo-perplexity", bilm, "--like", str(run.config), "--output", str(output), "--cuda-device", device]
    _allennlp(arguments, run, True, keep_open)


def _allennlp(arguments: Sequence[str], run: Run, is_quiet: bool, keep_open: Sequence[int]) -> None:
    environment = {**os.environ, **run.variables}
    if is_quiet:
        environment.setdefault("ALLENNLP_LOG_LEVEL", "WARNING")
    command = [sys.executable, "-m", "elmo_plugin", *arguments]
    if arguments[0] == "train" and not sys.stderr.isatty():
        command.append("--file-friendly-logging")
    code = subprocess.run(command, env=environment, pass_fds=keep_open).returncode
    if code:
        what = run.command_line() if arguments[0] == "train" else shlex.join(["allennlp", *arguments])
        raise TrainingError(f"allennlp {arguments[0]} ended with code {code}; the reason is above. It was: {what}")


def is_finished(folder: Path) -> bool:
    """Whether a training has left its metrics and its archive there."""
    return (folder / METRICS).exists() and (folder / ARCHIVE).exists()


def collect(folder: Path, with_mixes: bool = False) -> Result:
    """
    Read the results of a finished training.

    # Parameters

    with_mixes : read those of ELMo layers too, for which the model is loaded.

    # Raises

    `TrainingError` where the files are not what a training leaves.
    """
    try:
        metrics, config = (_read(folder / name) for name in (METRICS, "config.json"))
        # Trainings by hand have none.
        record = _read(folder / RECORD) if (folder / RECORD).exists() else {}
        return Result(
            metrics,
            seconds_of(metrics["training_duration"]),
            mixes_of(load(folder / ARCHIVE).model, config["model"]) if with_mixes else [],
            record.get("commit"),
            validation_metric(config),
            record.get("inputs", {}),
            cut_short(metrics, config["trainer"]),
        )
    except (OSError, ValueError, KeyError) as error:
        raise TrainingError(
            f"{folder}: not the results of a training ({error!r}). Remove it, and run again what it was."
        ) from error


def _read(path: Path) -> Dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def cut_short(metrics: Mapping[str, Any], trainer: Mapping[str, Any]) -> str:
    """Say so where the last epoch was the last one allowed, and no patience was at its end: more might do better."""
    last, best = metrics.get("epoch"), metrics.get("best_epoch")
    if last is None or best is None or last + 1 < trainer.get("num_epochs", math.inf):
        return ""
    if last - best >= trainer.get("patience", 1):
        return ""
    return f"the best of {last + 1} epochs is number {best + 1}: more might do better"


def validation_metric(config: Mapping[str, Any]) -> str:
    """The name of the score that a training is validated by, from its configuration."""
    return config["trainer"]["validation_metric"].lstrip("+-")


def load(archive: Path, cuda_device: int = -1) -> Any:
    """Load the archive of a training that ran in a process of its own, with AllenNLP's plugins."""
    from allennlp.common.plugins import import_plugins
    from allennlp.models import load_archive

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


def seconds_of(duration: str) -> float:
    """Convert AllenNLP's durations: "1 day, 0:03:06.537768"."""
    match = re.fullmatch(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)", duration)
    if match is None:
        raise ValueError(f"duration is {duration!r}, expected one like '1 day, 0:03:06.537768'.")
    days, hours, minutes, seconds = match.groups(default="0")
    return ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)
