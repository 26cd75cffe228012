"""Run `allennlp train` and collect what came out."""

import json
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
from elmo_plugin.formats.layer_mixes import places

METRICS = "metrics.json"
ARCHIVE = "model.tar.gz"
#: what is known about a training beside what AllenNLP writes
RECORD = "run.json"
#: of a score in `metrics.json`, by the part of the data
PREFIXES = {"test": "test_", "development": "best_validation_"}


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

    def arguments(self, folder: Optional[Path] = None) -> List[str]:
        """Return the arguments of the `allennlp` program; `folder` is another one for the results."""
        seeds = dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), self.seed)
        return [
            "train",
            str(self.config),
            "-s",
            str(folder or self.folder),
            "--force",
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
    """

    metrics: Mapping[str, Any]
    seconds: float
    mixes: Sequence[Dict[str, Any]] = ()
    commit: Optional[str] = None
    validated_by: str = ""

    def score(self, split: str) -> float:
        """Return what the best epoch scores on the "test" or the "development" part, a fraction of one."""
        return self.metrics[PREFIXES[split] + self.validated_by]


def train(run: Run, is_quiet: bool = True, keep_open: Sequence[int] = ()) -> None:
    """
    Train, in a process of its own, which shows its progress.

    The results appear in the run's folder all at once, when the training is done; until then they are in a folder
    beside it whose name ends in ".part".

    # Parameters

    is_quiet : leave out what AllenNLP reports about its parameters; warnings and progress are shown.
    keep_open : descriptors of files that the process inherits: a lock is then held until the training ends, also where
        the process that took it is killed.

    # Raises

    `TrainingError` where the program fails.
    """
    part = run.folder.with_name(run.folder.name + ".part")
    record = {"commit": machine.commit(), "command": run.command_line()}
    _allennlp(run.arguments(part), run, is_quiet, keep_open)
    (part / RECORD).write_text(json.dumps(record, indent=2), encoding="utf-8")
    if run.folder.exists():
        shutil.rmtree(run.folder)
    part.rename(run.folder)


def evaluate(run: Run, split: str, keep_open: Sequence[int] = ()) -> None:
    """
    Score the items of a part of the data by the model of a finished training, in a process of its own.

    # Raises

    `TrainingError` where the program fails.
    """
    _allennlp(["elmo-tables", "items", str(run.folder), "--split", split], run, True, keep_open)


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
    """
    metrics = json.loads((folder / METRICS).read_text())
    record = folder / RECORD
    commit = json.loads(record.read_text(encoding="utf-8"))["commit"] if record.exists() else None
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Result(
        metrics,
        seconds_of(metrics["training_duration"]),
        mixes_of(load(folder / ARCHIVE).model, config["model"]) if with_mixes else [],
        commit,
        validation_metric(config),
    )


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
