"""Run what is missing of a table."""

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from overrides import overrides

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.reproduction import items, outcome, training
from elmo_plugin.reproduction.cells import Cell, fingerprint
from elmo_plugin.reproduction.outcome import TrainingError
from elmo_plugin.reproduction.recovery import kept
from elmo_plugin.reproduction.training import Run

CACHE_KEY = "model.text_field_embedder.token_embedders.bilm.cache"


class Job(ABC):
    """
    A training, and what is scored by its model.

    # Parameters

    run : the training.
    scored : what is scored, for people.
    needs : the folder of another training that must be finished before it is trained; None where it needs none.
    """

    def __init__(self, run: Run, scored: str, needs: Optional[Path] = None) -> None:
        self.run = run
        self.scored = scored
        self.needs = needs

    @property
    def is_done(self) -> bool:
        """Whether the training is finished and all is scored; its weights are not needed any more."""
        return outcome.is_evaluated(self.run.folder) and all(path.exists() for path in self.leaves)

    @property
    @abstractmethod
    def leaves(self) -> Sequence[Path]:
        """The files that hold the scores."""

    @abstractmethod
    def score(self, keep_open: Sequence[int]) -> None:
        """Score what is not yet scored; `keep_open` as in `training.train`."""


class ItemsJob(Job):
    """A training whose model scores the items of a part of the data: "test" or "development"."""

    def __init__(self, run: Run, split: str, needs: Optional[Path] = None) -> None:
        super().__init__(run, f"the {split} items", needs)
        self.split = split

    @property
    @overrides
    def leaves(self) -> Sequence[Path]:
        return [items.path_of(self.run.folder, self.split)]

    @overrides
    def score(self, keep_open: Sequence[int]) -> None:
        training.evaluate(self.run, self.split, keep_open=keep_open)


@dataclass(frozen=True)
class Plan:
    """
    What is to be run.

    # Parameters

    cells : of one table.
    seeds : of each; None for those whose trainings are there.
    variables : of the experiments.
    folder : of all runs, of all tables.
    cache : where the layers of a frozen biLM are kept for all runs; None for no cache.
    tuned : by task the job, in the same folder, that tunes the biLM on its text: the task's cells with ELMo have the
        tuned one. The variables then have the width of its vectors, BILM_DIM.
    """

    cells: Sequence[Cell]
    seeds: Optional[Sequence[int]]
    variables: Mapping[str, str]
    folder: Path
    cache: Optional[Path] = None
    tuned: Mapping[str, Job] = field(default_factory=dict)
    # of these variables: a changed copy of a plan has names of its own
    _names: Dict[Path, str] = field(default_factory=dict, init=False)

    def tuning_of(self, cell: Cell) -> Optional[Job]:
        """What tunes the biLM of a cell; None where it is taken as it is, or the cell has none."""
        return None if cell.is_baseline else self.tuned.get(cell.task)

    def variables_of(self, cell: Cell) -> Mapping[str, str]:
        """The variables of a cell's experiment: those of the plan, and the biLM that is tuned for it."""
        tuning = self.tuning_of(cell)
        if tuning is None:
            return self.variables
        return {**self.variables, "BILM": str((tuning.run.folder / outcome.ARCHIVE).absolute())}

    def runs_of(self, cell: Cell) -> List[Run]:
        """The trainings of a cell, one for each seed."""
        home = self.folder / self._name_of(cell)
        overrides = kept([] if cell.is_baseline else [{"type": "elmo_layer_weights"}])
        if self.cache is not None and not cell.is_baseline:
            overrides[CACHE_KEY] = str(self.cache)
        seeds = self.seeds
        if seeds is None:
            seeds = sorted(int(path.name) for path in home.glob("*") if path.name.isdecimal())
        variables, is_tuned = self.variables_of(cell), self.tuning_of(cell) is not None
        return [Run(cell.config, seed, home / str(seed), variables, overrides, is_tuned) for seed in seeds]

    def _name_of(self, cell: Cell) -> str:
        """Of a cell's trainings; a tuned biLM is in it by where its tuning is in the folder, which may be moved."""
        if cell.config not in self._names:
            tuning = self.tuning_of(cell)
            tuned = {} if tuning is None else {"BILM": tuning.run.folder.relative_to(self.folder).as_posix()}
            self._names[cell.config] = f"{cell.task}-{fingerprint(cell.config, {**self.variables, **tuned})}"
        return self._names[cell.config]

    def experiments(self) -> List[Tuple[str, Path]]:
        """The configurations, each with its task."""
        tunings = [(task, job.run.config) for task, job in self.tunings().items()]
        return [*tunings, *((cell.task, cell.config) for cell in self.cells)]

    def jobs(self) -> List[Job]:
        """The tunings, and each training once."""
        return [*self.tunings().values(), *self.trainings()]

    def trainings(self) -> List[Job]:
        """Each training once, with the part of the data that its cell scores."""
        by_folder: Dict[Path, Job] = {}
        for cell in self.cells:
            tuning = self.tuning_of(cell)
            needs = None if tuning is None else tuning.run.folder
            by_folder.update({run.folder: ItemsJob(run, cell.split, needs) for run in self.runs_of(cell)})
        return list(by_folder.values())

    def tunings(self) -> Dict[str, Job]:
        """By task the tunings that a cell has need of."""
        tasks = {cell.task for cell in self.cells if not cell.is_baseline}
        return {task: job for task, job in self.tuned.items() if task in tasks}


def run_missing(jobs: Sequence[Job], say: Callable[[str], None]) -> List[str]:
    """
    Train what has no result yet, and score it; what another process is at is left to it, and a failure stops nothing
    else but what needs it. A biLM is tuned again where its weights are gone or damaged and a training needs them.

    # Returns

    What failed.
    """
    needed = {job.needs for job in jobs if job.needs is not None and not outcome.is_evaluated(job.run.folder)}
    broken = {folder for folder in needed if outcome.is_evaluated(folder) and not outcome.is_whole(folder)}
    left = [job for job in jobs if not job.is_done or job.run.folder in broken]
    say(f"{len(jobs)} trainings, {len(jobs) - len(left)} of them done")
    failures: List[str] = []
    elsewhere: List[Path] = []

    def fail(reason: str) -> None:
        failures.append(reason)
        say(f"failed: {reason}")

    for number, job in enumerate(left):
        run = job.run
        needs = None if outcome.is_evaluated(run.folder) else job.needs
        if needs in elsewhere:
            say(f"{run.name}: needs {needs}, which another process is at: run again when that is done")
            continue
        if needs is not None and not outcome.is_finished(needs):
            fail(f"{run.name}: needs {needs}, where no training is finished")
            continue
        lock = FileLock(run.folder.with_name(run.folder.name + ".lock"))
        try:
            run.folder.parent.mkdir(parents=True, exist_ok=True)
            if not lock.acquire(exclusive=True):
                say(f"{run.name}: another process is at it")
                elsewhere.append(run.folder)
                continue
            # By now another process may have finished it, and others read it.
            is_broken = run.folder in broken and not outcome.is_whole(run.folder)
            if is_broken or not outcome.is_evaluated(run.folder):
                ahead = time_left([one.run for one in left[number:]], [one.run for one in jobs])
                say(f"Training {number + 1} of {len(left)}: {run.name}{ahead}\n{run.command_line()}")
                training.train(run, keep_open=lock.descriptors)
            if not job.is_done:
                if not outcome.is_finished(run.folder):
                    raise TrainingError(
                        f"{run.folder} has no {outcome.ARCHIVE}, which {job.scored} need: bring it back, or remove "
                        "the folder, with all that is scored there, to train again."
                    )
                say(f"Scoring {number + 1} of {len(left)}: {run.name}, {job.scored}")
                job.score(lock.descriptors)
        except (TrainingError, EngineError, OSError) as error:  # what one is too large for may hold another
            fail(f"{run.name}: {error}")
        finally:
            lock.release()
    return failures


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
        if outcome.is_evaluated(run.folder):
            with suppress(TrainingError):  # whoever shows the table says so
                seconds.setdefault(run.config, []).append(outcome.collect(run.folder).seconds)
    known = [value for values in seconds.values() for value in values]
    if not known:
        return ""
    coming = [seconds.get(run.config, known) for run in ahead if not outcome.is_evaluated(run.folder)]
    total = sum(sum(values) / len(values) for values in coming)
    minutes = round(total / 60)
    return f", about {minutes // 60}:{minutes % 60:02} hours left"
