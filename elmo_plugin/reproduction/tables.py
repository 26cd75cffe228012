"""Run what is missing of a table, and collect what there is."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.reproduction import training
from elmo_plugin.reproduction.cells import BASELINE, Cell, fingerprint
from elmo_plugin.reproduction.scores import Score, error_reduction, score
from elmo_plugin.reproduction.training import Run, TrainingError

CACHE_KEY = "model.text_field_embedder.token_embedders.bilm.cache"


@dataclass(frozen=True)
class Plan:
    """
    What is to be run.

    # Parameters

    cells : of one table.
    seeds : of each.
    variables : of the experiments.
    folder : of all runs, of all tables.
    cache : where the layers of a frozen biLM are kept for all runs; None for no cache.
    """

    cells: Sequence[Cell]
    seeds: Sequence[int]
    variables: Mapping[str, str]
    folder: Path
    cache: Optional[Path] = None
    _names: Dict[Path, str] = field(default_factory=dict)

    def runs_of(self, cell: Cell) -> List[Run]:
        """The trainings of a cell, one for each seed."""
        if cell.config not in self._names:
            self._names[cell.config] = f"{cell.task}-{fingerprint(cell.config, self.variables)}"
        home = self.folder / self._names[cell.config]
        overrides = {}
        if self.cache is not None and cell.variant.partition("_")[0] != BASELINE:
            overrides[CACHE_KEY] = str(self.cache)
        return [Run(cell.config, seed, home / str(seed), self.variables, overrides) for seed in self.seeds]


def run_missing(plan: Plan, say: Callable[[str], None]) -> List[str]:
    """
    Train what has no result yet; what another process is training is left to it, and a failure stops nothing else.

    # Returns

    What failed.
    """
    waiting = {run.folder: run for cell in plan.cells for run in plan.runs_of(cell)}
    runs = [run for run in waiting.values() if not training.is_finished(run.folder)]
    say(f"{len(waiting)} trainings, {len(waiting) - len(runs)} of them done")
    failures: List[str] = []
    begin, trained = time.monotonic(), 0
    for number, run in enumerate(runs):
        run.folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(run.folder.with_name(run.folder.name + ".lock"))
        if not lock.acquire(exclusive=True):
            say(f"{run.name}: another process is at it")
            continue
        try:
            if training.is_finished(run.folder):
                continue
            left = ""
            if trained:
                seconds = (time.monotonic() - begin) / trained * (len(runs) - number)
                left = f", about {seconds / 60:.0f} minutes left"
            say(f"Training {number + 1} of {len(runs)}: {run.name}{left}\n{run.command_line()}")
            training.train(run)
            trained += 1
        except TrainingError as error:
            failures.append(f"{run.name}: {error}")
        finally:
            lock.release()
    return failures


@dataclass(frozen=True)
class Row:
    """
    A cell with what was measured.

    # Parameters

    cell : of the table.
    found : the fractions that its finished runs scored.
    seconds : the mean of a training; None where nothing is finished.
    """

    cell: Cell
    found: Sequence[float]
    seconds: Optional[float]

    @property
    def score(self) -> Optional[Score]:
        """In percent."""
        return score(self.found) if self.found else None


def collect(plan: Plan) -> List[Row]:
    """Read the results of the runs that are finished."""
    rows = []
    for cell in plan.cells:
        folders = [run.folder for run in plan.runs_of(cell) if training.is_finished(run.folder)]
        metrics = [json.loads((folder / training.METRICS).read_text()) for folder in folders]
        found = [one[_metric(folder, cell)] for folder, one in zip(folders, metrics)]
        seconds = [training.seconds_of(one["training_duration"]) for one in metrics]
        rows.append(Row(cell, found, sum(seconds) / len(seconds) if seconds else None))
    return rows


def _metric(folder: Path, cell: Cell) -> str:
    """The name of the score in a run's metrics: what the training was validated by."""
    content: Dict[str, Any] = json.loads((folder / "config.json").read_text())
    name = content["trainer"]["validation_metric"].lstrip("+")
    return f"test_{name}" if cell.split == "test" else f"best_validation_{name}"


@dataclass(frozen=True)
class Gain:
    """What ELMo does for a task, in points and as the share of the errors that are gone, in percent."""

    absolute: float
    relative: float


def gain(baseline: Optional[float], improved: Optional[float]) -> Optional[Gain]:
    """Compare two scores in percent; None where one is missing."""
    if baseline is None or improved is None:
        return None
    return Gain(improved - baseline, error_reduction(baseline, improved))
