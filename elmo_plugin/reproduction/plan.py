"""The trainings of a table of cells."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from overrides import overrides

from elmo_plugin.reproduction import outcome
from elmo_plugin.reproduction.cells import Cell, callbacks_of, fingerprint, fingerprint_of, without_places
from elmo_plugin.reproduction.jobs import ItemsJob, Job, TablePlan
from elmo_plugin.reproduction.recovery import added, kept
from elmo_plugin.reproduction.training import Run

CACHE_KEY = "model.text_field_embedder.token_embedders.bilm.cache"


class _Planned(NamedTuple):
    """What is known of a cell's trainings before any: their folder, their experiment's fingerprint, what is set."""

    name: str
    fingerprint: str
    overrides: Dict[str, Any]


@dataclass(frozen=True)
class Plan(TablePlan):
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
    # of these variables: a changed copy of a plan has its own
    _planned: Dict[Path, "_Planned"] = field(default_factory=dict, init=False)

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
        planned = self._planned_of(cell)
        home = self.folder / planned.name
        overrides = dict(planned.overrides)
        if self.cache is not None and not cell.is_baseline:
            overrides[CACHE_KEY] = str(self.cache)
        seeds = self.seeds
        if seeds is None:
            seeds = sorted(int(path.name) for path in home.glob("*") if path.name.isdecimal())
        variables, is_tuned = self.variables_of(cell), self.tuning_of(cell) is not None
        return [
            Run(cell.config, seed, home / str(seed), variables, overrides, is_tuned, planned.fingerprint)
            for seed in seeds
        ]

    def _planned_of(self, cell: Cell) -> "_Planned":
        if cell.config not in self._planned:
            tuning = self.tuning_of(cell)
            # A tuned biLM is in the name by where its tuning is in the folder, which may be moved.
            tuned = {} if tuning is None else {"BILM": tuning.run.folder.relative_to(self.folder).as_posix()}
            content = without_places(cell.config, {**self.variables, **tuned})
            digest, callbacks = fingerprint_of(content), callbacks_of(content)
            overrides = kept(callbacks if cell.is_baseline else added(callbacks, "elmo_layer_weights"))
            experiment = digest if tuning is None else fingerprint(cell.config, self.variables_of(cell))
            self._planned[cell.config] = _Planned(f"{cell.task}-{digest}", experiment, overrides)
        return self._planned[cell.config]

    @overrides
    def experiments(self) -> List[Tuple[str, Path]]:
        tunings = [(task, job.run.config) for task, job in self.tunings().items()]
        return [*tunings, *((cell.task, cell.config) for cell in self.cells)]

    @overrides
    def jobs(self) -> List[Job]:
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
