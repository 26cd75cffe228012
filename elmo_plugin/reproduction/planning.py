"""From what a person asks for to what is to be run."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence

from elmo_plugin.formats import pretrained, read_options
from elmo_plugin.reproduction import data_sets, outcome, tunings
from elmo_plugin.reproduction.cells import CellError, cells_of
from elmo_plugin.reproduction.jobs import Job, TablePlan
from elmo_plugin.reproduction.plan import Plan


@dataclass(frozen=True)
class Request:
    """
    A table, as a person asks for it.

    # Parameters

    table : one of `cells.TABLES`, or `tunings.TABLE`.
    scale : one of `cells.SCALES`.
    experiments : the folder of all experiments.
    runs : the folder of all trainings and tables.
    bilm : a name; a path as it is to be in the names of trainings and tables.
    data : the folder of all data sets.
    trees : that of the treebank on which the biLM is tuned for sentiment.
    vectors : the word vectors of the small scale.
    tuned : tasks on whose text the biLM is tuned first.
    """

    table: str
    scale: str
    experiments: Path
    runs: Path
    bilm: str
    data: str
    trees: str
    vectors: str
    tuned: Sequence[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Of the trainings and tables of this scale."""
        return self.runs / self.scale

    def variables(self) -> Dict[str, str]:
        """
        The variables that the experiments read.

        # Raises

        `EngineError` where the width of the biLM has to be looked up, and it cannot be read.
        """
        variables = {"SCALE": self.scale, "DATA": self.data, "SST_DATA": self.trees}
        variables.update(BILM=self.bilm, VECTORS=self.vectors)
        # a name says the width, but not the archive of a tuned biLM, which takes its place
        if self.bilm not in pretrained.names() or self._has_tunings:
            variables["BILM_DIM"] = str(2 * read_options(self.bilm)[0].lstm.projection_dim)
        return variables

    @property
    def _has_tunings(self) -> bool:
        return bool(self.tuned) or self.table == tunings.TABLE

    def tuning_plan(
        self, seeds: Optional[Sequence[int]], tasks: Optional[Sequence[str]], cache: Optional[Path] = None
    ) -> tunings.TuningPlan:
        """Plan table 7; otherwise as `plan`."""
        if self.tuned:
            raise CellError(f"--tuned is for the other tables: {tunings.TABLE} has each task with both biLMs.")
        found = tunings.tunings_of(self.experiments, tasks)
        return tunings.TuningPlan(found, seeds, self.variables(), self.folder, cache)

    def cell_plan(
        self, seeds: Optional[Sequence[int]], tasks: Optional[Sequence[str]], cache: Optional[Path] = None
    ) -> Plan:
        """Plan any other table; otherwise as `plan`."""
        variables = self.variables()
        tuned = self._tuned(variables)
        cells = cells_of(self.table, self.experiments, tasks)
        return Plan(cells, seeds, variables, self.folder, cache, tuned)

    def plan(
        self, seeds: Optional[Sequence[int]], tasks: Optional[Sequence[str]], cache: Optional[Path] = None
    ) -> TablePlan:
        """
        Plan the table.

        # Parameters

        seeds : of each training; None for those that are there.
        tasks : None for all of the table.
        cache : a folder for the layers of the frozen biLM; None for no cache.

        # Raises

        `CellError` where there is no such table or task; `EngineError` about the biLM.
        """
        make = self.tuning_plan if self.table == tunings.TABLE else self.cell_plan
        return make(seeds, tasks, cache)

    def _tuned(self, variables: Mapping[str, str]) -> Dict[str, Job]:
        if not self.tuned:
            return {}
        if self.table == "figure1":
            raise CellError(
                "--tuned is not for figure1: the biLM would have read all of the text that its points have a part of."
            )
        try:
            cells_of(self.table, self.experiments, self.tuned)  # refuses tasks that are none of the table's
            return dict(tunings.tuned_bilms(self.experiments, self.tuned, variables, self.folder))
        except CellError as error:
            raise CellError(f"--tuned {','.join(self.tuned)}: {error}") from error

    def other_tunings(self) -> List[str]:
        """
        Return the tasks of which there are trainings with this biLM tuned, where that is not asked for.

        # Raises

        `CellError` where an experiment cannot be evaluated; `EngineError` where the width of the biLM cannot be read.
        """
        if self._has_tunings or self.table == "figure1":
            return []
        tasks = sorted({cell.task for cell in cells_of(self.table, self.experiments)})
        found = tunings.tuned_in(self.folder, self.experiments, tasks, replace(self, tuned=tasks).variables())
        if not found:
            return []
        plan = replace(self, tuned=found).cell_plan(None, found)
        return sorted({cell.task for cell in plan.cells if not cell.is_baseline and plan.runs_of(cell)})

    def check_bilm(self) -> None:
        """
        Refuse a biLM that cannot be tuned where it is to be.

        # Raises

        `CellError` where it has no softmax, or no words of one; `EngineError` where it cannot be read.
        """
        if self._has_tunings:
            tunings.check_bilm(self.bilm)

    def needs(self, plan: TablePlan, all_of_it: bool = True) -> data_sets.Needs:
        """
        Look for what a plan reads and runs.

        # Parameters

        all_of_it : also what is needed by trainings that are done.

        # Raises

        `CellError` where an experiment cannot be evaluated.
        """
        experiments = plan.experiments()
        if not all_of_it:
            jobs = plan.jobs()
            left = [job for job in jobs if not job.is_done]
            # What is needed and has no weights any more is to be done again.
            needed = {job.needs for job in left if job.needs is not None and not outcome.is_finished(job.needs)}
            coming = {job.run.config for job in [*left, *(job for job in jobs if job.run.folder in needed)]}
            experiments = [(task, config) for task, config in experiments if config in coming]
        return data_sets.needs_of(experiments, plan.variables)

    def explain(self, needs: data_sets.Needs) -> str:
        """Say what is not there or to be corrected, and what to do; empty where all is well."""
        return data_sets.explain(needs, self.scale, self.data, self.vectors)
