"""Run what is missing of a table."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.reproduction import items, training
from elmo_plugin.reproduction.cells import Cell, fingerprint
from elmo_plugin.reproduction.training import Run, TrainingError

CACHE_KEY = "model.text_field_embedder.token_embedders.bilm.cache"
CALLBACKS_KEY = "trainer.callbacks"


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
        overrides: Dict[str, Any] = {}
        if not cell.is_baseline:
            overrides[CALLBACKS_KEY] = [{"type": "elmo_layer_weights"}]
            if self.cache is not None:
                overrides[CACHE_KEY] = str(self.cache)
        return [Run(cell.config, seed, home / str(seed), self.variables, overrides) for seed in self.seeds]

    def jobs(self) -> Dict[Path, Tuple[Run, str]]:
        """Each training once, by its folder, with the part of the data that its cell scores."""
        return {run.folder: (run, cell.split) for cell in self.cells for run in self.runs_of(cell)}


def run_missing(plan: Plan, say: Callable[[str], None]) -> List[str]:
    """
    Train what has no result yet, and score its items; what another process is at is left to it, and a failure stops
    nothing else.

    # Returns

    What failed.
    """
    jobs = plan.jobs()
    left = [(run, split) for run, split in jobs.values() if not _is_done(run, split)]
    say(f"{len(jobs)} trainings, {len(jobs) - len(left)} of them done")
    failures: List[str] = []
    for number, (run, split) in enumerate(left):
        run.folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(run.folder.with_name(run.folder.name + ".lock"))
        if not lock.acquire(exclusive=True):
            say(f"{run.name}: another process is at it")
            continue
        try:
            if not training.is_finished(run.folder):
                ahead = time_left([run for run, _ in left[number:]], [run for run, _ in jobs.values()])
                say(f"Training {number + 1} of {len(left)}: {run.name}{ahead}\n{run.command_line()}")
                training.train(run, keep_open=lock.descriptors)
            if not _is_done(run, split):
                say(f"Scoring {number + 1} of {len(left)}: {run.name}, the {split} items")
                training.evaluate(run, split, keep_open=lock.descriptors)
        except TrainingError as error:
            failures.append(f"{run.name}: {error}")
        finally:
            lock.release()
    return failures


def _is_done(run: Run, split: str) -> bool:
    return training.is_finished(run.folder) and items.path_of(run.folder, split).exists()


def time_left(ahead: Sequence[Run], runs: Sequence[Run]) -> str:
    """
    Say how long trainings will take, one after the other.

    # Parameters

    ahead : the trainings; those that are finished take no time.
    runs : all of the plan. A training takes as long as the finished ones of its experiment, or else as all finished
        ones, in the mean.

    # Returns

    Text to append; empty where nothing is finished yet.
    """
    seconds: Dict[Path, List[float]] = {}
    for run in runs:
        if training.is_finished(run.folder):
            seconds.setdefault(run.config, []).append(training.collect(run.folder).seconds)
    known = [value for values in seconds.values() for value in values]
    if not known:
        return ""
    coming = [seconds.get(run.config, known) for run in ahead if not training.is_finished(run.folder)]
    total = sum(sum(values) / len(values) for values in coming)
    minutes = round(total / 60)
    return f", about {minutes // 60}:{minutes % 60:02} hours left"
