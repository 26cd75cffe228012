"""Run `allennlp train`, and score what came out."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from elmo_plugin.benchmark import machine
from elmo_plugin.formats.atomic import replacing
from elmo_plugin.reproduction import outcome, recovery
from elmo_plugin.reproduction.cells import SEEDS, fingerprint, resolve
from elmo_plugin.reproduction.inputs import changed, inputs_of
from elmo_plugin.reproduction.outcome import TrainingError


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
    is_tuned : whether the biLM is one that is tuned on the task's text, which its name says.
    fingerprint : of the experiment when the training was planned; empty where it may change until it is started.
    """

    config: Path
    seed: int
    folder: Path
    variables: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    is_tuned: bool = False
    fingerprint: str = ""

    @property
    def name(self) -> str:
        """The experiment and the seed, for people."""
        experiment = f"{self.config.parent.name}/{self.config.stem}"
        return f"{experiment}{', tuned' if self.is_tuned else ''}, seed {self.seed}"

    def arguments(self, folder: str, *modes: str) -> List[str]:
        """Return the arguments of the `allennlp` program; `folder` is that of the results, `modes` are more options."""
        return ["train", str(self.config), "-s", folder, *modes, "-o", self.changes()]

    def changes(self) -> str:
        """Return the parameters of the configuration that are set, as JSON."""
        return json.dumps({**dict.fromkeys(SEEDS, self.seed), **self.overrides})

    def command_line(self) -> str:
        """Return what a person types for this, into a folder of theirs."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*variables, "allennlp", *map(shlex.quote, self.arguments("FOLDER"))])


def train(run: Run, keep_open: Sequence[int] = ()) -> None:
    """
    Train, in a process of its own, which shows its progress.

    The results appear in the run's folder all at once, when the training is done; until then they are in a folder
    beside it whose name ends in ".part". One that was killed goes on behind its last epoch where it was kept by the
    checkpointer `elmo`, with other random numbers than if it had not been, which `run.json` says, and begins anew
    otherwise; one that went on to its end after this process was killed is taken as it is.

    # Parameters

    keep_open : descriptors of files that the process inherits: a lock is then held until the training ends, also where
        the process that took it is killed.

    # Raises

    `TrainingError` where the program fails, or the experiment has changed since the training was planned.
    """
    if run.fingerprint and fingerprint(run.config, run.variables) != run.fingerprint:
        raise TrainingError(
            f"{run.config} has changed since this command was started, and would be trained under a wrong name. Start "
            "it again."
        )
    part = run.folder.with_name(run.folder.name + ".part")
    begun = run.folder.with_name(f"{run.folder.name}.{outcome.RECORD}")
    if not (begun.exists() and outcome.is_whole(part)):
        _train_into(part, begun, run, keep_open)
    # A kill between any two of these lines leaves enough to do them again.
    _add_inputs(begun, run)
    shutil.copyfile(begun, part / outcome.RECORD)
    if run.folder.exists():
        shutil.rmtree(run.folder)
    part.rename(run.folder)
    begun.unlink()


def _train_into(part: Path, begun: Path, run: Run, keep_open: Sequence[int]) -> None:
    # What is at an address may be fetched anew by the training: it is described behind it.
    commit, inputs = machine.commit(), inputs_of(run.config, run.variables, with_fetched=False)
    earlier = _earlier(part, begun, inputs)
    if earlier is None:
        # Killed before AllenNLP does so, this training would go on from what an older one has left.
        if part.exists():
            shutil.rmtree(part)
        record: Dict[str, Any] = {"commit": commit, "command": run.command_line(), "inputs": inputs}
    else:
        record = {**earlier, "command": run.command_line(), "recovered": [*earlier.get("recovered", []), commit]}
        recovery.configure(part, run.config, run.variables, run.changes())
        # Left by an earlier end: killed between its new metrics and its new archive, this training would pass for whole
        # with the old archive.
        for name in (outcome.METRICS, outcome.ARCHIVE):
            with suppress(FileNotFoundError):
                (part / name).unlink()
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    with replacing(begun) as new:
        new.write_text(json.dumps(record, indent=2), encoding="utf-8")
    try:
        mode = "--force" if earlier is None else "--recover"
        _allennlp(run.arguments(str(part), mode), run, keep_open)
    except TrainingError as error:
        if earlier is None:
            raise
        raise TrainingError(
            f"{error} It went on from where it was interrupted; to begin anew remove {part}."
        ) from error


def _add_inputs(begun: Path, run: Run) -> None:
    """Say what was read that was at some address when the training began."""
    record = _read_begun(begun)
    record["inputs"] = {**inputs_of(run.config, run.variables), **record["inputs"]}
    with replacing(begun) as new:
        new.write_text(json.dumps(record, indent=2), encoding="utf-8")


def _earlier(part: Path, begun: Path, inputs: Mapping[str, str]) -> Optional[Dict[str, Any]]:
    """What is known about an unfinished training that can go on; None where there is none, or on other data."""
    if not begun.exists() or not recovery.can_go_on(part):
        return None
    record = _read_begun(begun)
    return None if changed(record["inputs"], inputs) else record


def _read_begun(begun: Path) -> Dict[str, Any]:
    try:
        record = outcome.read_object(begun)
        return {**record, "inputs": dict(record["inputs"])}
    except (ValueError, KeyError, TypeError) as error:
        raise TrainingError(
            f"{begun}: not what is known about a training that began ({error!r}). Remove it to train anew."
        ) from error


def evaluate(run: Run, split: str, keep_open: Sequence[int] = ()) -> None:
    """
    Score the items of a part of the data by the model of a finished training, in a process of its own.

    # Raises

    `TrainingError` where the program fails.
    """
    data = resolve(run.config, run.variables)[outcome.DATA_KEYS[split]]
    _allennlp(["elmo-tables", "items", str(run.folder), "--split", split, "--data", data], run, keep_open)


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
    _allennlp(arguments, run, keep_open)


def _allennlp(arguments: Sequence[str], run: Run, keep_open: Sequence[int]) -> None:
    environment = {**os.environ, **run.variables}
    environment.setdefault("PYTHONUTF8", "1")  # AllenNLP's readers open files in the encoding of the locale
    # Without what AllenNLP reports about its parameters; warnings and progress are shown.
    environment.setdefault("ALLENNLP_LOG_LEVEL", "WARNING")
    command = [sys.executable, "-m", "elmo_plugin", *arguments]
    if arguments[0] == "train" and not sys.stderr.isatty():
        command.append("--file-friendly-logging")
    code = subprocess.run(command, env=environment, pass_fds=keep_open).returncode
    if code:
        what = run.command_line() if arguments[0] == "train" else shlex.join(["allennlp", *arguments])
        raise TrainingError(f"allennlp {arguments[0]} ended with code {code}; the reason is above. It was: {what}")
