"""Run `allennlp train` and collect what came out."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping

METRICS = "metrics.json"
ARCHIVE = "model.tar.gz"


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

    def arguments(self) -> List[str]:
        """Return the arguments of the `allennlp` program."""
        seeds = dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), self.seed)
        return [
            "train",
            str(self.config),
            "-s",
            str(self.folder),
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
    mixes : for each mix of ELMo layers, where there are any, its "layers", "weights" and "gamma".
    """

    metrics: Mapping[str, Any]
    seconds: float
    mixes: List[Dict[str, Any]]


def train(run: Run, is_quiet: bool = True) -> None:
    """
    Train, in a process of its own, which shows its progress.

    # Parameters

    is_quiet : leave out what AllenNLP reports about its parameters; warnings and progress are shown.

    # Raises

    `TrainingError` where the program fails.
    """
    environment = {**os.environ, **run.variables}
    if is_quiet:
        environment.setdefault("ALLENNLP_LOG_LEVEL", "WARNING")
    command = [sys.executable, "-m", "allennlp", *run.arguments()]
    if not sys.stderr.isatty():
        command.append("--file-friendly-logging")
    code = subprocess.run(command, env=environment).returncode
    if code:
        raise TrainingError(f"allennlp train ended with code {code}; the reason is above. It was: {run.command_line()}")


def is_finished(folder: Path) -> bool:
    """Whether a training has left its metrics and its archive there."""
    return (folder / METRICS).exists() and (folder / ARCHIVE).exists()


def collect(folder: Path) -> Result:
    """Read the results of a finished training."""
    metrics = json.loads((folder / METRICS).read_text())
    return Result(metrics, seconds_of(metrics["training_duration"]), mixes_of(folder / ARCHIVE))


def mixes_of(archive: Path) -> List[Dict[str, Any]]:
    """Return what the ELMo embedders of a trained model have learned about the layers of their biLMs."""
    from allennlp.common.plugins import import_plugins
    from allennlp.models import load_archive

    from elmo_plugin.token_embedders.elmo import ElmoEmbedder

    import_plugins()  # those of the training, which ran in a process of its own
    modules = load_archive(str(archive)).model.modules()
    return [mix for module in modules if isinstance(module, ElmoEmbedder) for mix in module.mixing_weights()]


def seconds_of(duration: str) -> float:
    """Convert AllenNLP's durations: "1 day, 0:03:06.537768"."""
    match = re.fullmatch(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)", duration)
    if match is None:
        raise ValueError(f"duration is {duration!r}, expected one like '1 day, 0:03:06.537768'.")
    days, hours, minutes, seconds = match.groups(default="0")
    return ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)
