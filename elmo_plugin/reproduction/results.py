"""Collect what there is of a table."""

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.reproduction import items, outcome
from elmo_plugin.reproduction.cells import Cell, CellError
from elmo_plugin.reproduction.inputs import changed, inputs_of
from elmo_plugin.reproduction.items import Items, ItemsError
from elmo_plugin.reproduction.outcome import Result, TrainingError
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.scores import Score, score
from elmo_plugin.reproduction.training import Run

#: in points: what a table shows of a difference
_VISIBLE = 0.05


@dataclass(frozen=True)
class Row:
    """
    A cell with what was measured.

    # Parameters

    cell : of the table.
    found : by seed the fraction that a finished run scored.
    seconds : the mean of a training; None where nothing is finished.
    commits : of the package in these runs, each once, as far as they are known.
    items : by seed what the model makes of each item, as far as it was asked.
    remarks : what to know about these runs before their scores are believed.
    is_tuned : whether they have the biLM as it is tuned on the task's text.
    parameters : how many weights are trained; None where no item of any part was scored.
    """

    cell: Cell
    found: Mapping[int, float] = field(default_factory=dict)
    seconds: Optional[float] = None
    commits: Sequence[str] = ()
    items: Mapping[int, Items] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    is_tuned: bool = False
    parameters: Optional[int] = None

    @property
    def task(self) -> str:
        """Of the cell."""
        return self.cell.task

    @property
    def score(self) -> Optional[Score]:
        """In percent."""
        return score(list(self.found.values())) if self.found else None


def collect(plan: Plan) -> List[Row]:
    """Read the results of the runs that are finished; what to know about a tuning is a remark of each of its cells."""
    tunings = {task: _of_tuning(job.run) for task, job in plan.tunings().items()}
    return [_row_or_why_not(cell, plan, tunings[cell.task] if plan.tuning_of(cell) else []) for cell in plan.cells]


def _row_or_why_not(cell: Cell, plan: Plan, of_tuning: Sequence[str]) -> Row:
    try:
        return _row(cell, plan, of_tuning)
    except CellError as error:  # the experiment is being edited, maybe: nobody knows which trainings are its own
        return Row(cell, remarks=[str(error)], is_tuned=plan.tuning_of(cell) is not None)


def _of_tuning(run: Run) -> List[str]:
    if not outcome.is_evaluated(run.folder):
        return []
    try:
        return remarks_of([(run, outcome.collect(run.folder))])
    except TrainingError as error:
        return [f"{run.name}: {error}"]


def _row(cell: Cell, plan: Plan, of_tuning: Sequence[str]) -> Row:
    results: List[Tuple[Run, Result]] = []
    remarks: List[str] = []
    found: Dict[int, float] = {}
    of_runs: Dict[int, Items] = {}
    runs = [run for run in plan.runs_of(cell) if outcome.is_evaluated(run.folder)]
    for run in runs:
        try:
            result = outcome.collect(run.folder)
            scored = result.score(cell.split)
        except TrainingError as error:
            remarks.append(f"{run.name}: {error}")
            continue
        of_run = None
        try:
            of_run = items.read(run.folder, cell.split)
        except ItemsError as error:
            remarks.append(f"{run.name}: {error}")
        results.append((run, result))
        found[run.seed] = scored
        if of_run is not None:
            of_runs[run.seed] = of_run
            again = of_run.corpus_score()
            if 100 * abs(again - scored) >= _VISIBLE:
                both = f"{100 * again:.2f}, the training reported {100 * scored:.2f}"
                remarks.append(f"{run.name}: its {cell.split} items, in other batches, come to {both}")
    remarks = [*(of_tuning if runs else []), *remarks, *remarks_of(results)]
    seconds = sum(one.seconds for _, one in results) / len(results) if results else None
    commits = sorted({commit for _, one in results for commit in one.commits})
    parameters = _trained(of_runs, [run.folder for run, _ in results])
    return Row(cell, found, seconds, commits, of_runs, remarks, plan.tuning_of(cell) is not None, parameters)


def _trained(of_runs: Mapping[int, Items], folders: Sequence[Path]) -> Optional[int]:
    """How many weights are trained, which whoever scores the items of any part writes down."""
    for of_known in of_runs.values():
        return int(of_known.parameters["trained"])
    for folder, split in product(folders, outcome.PREFIXES):
        with suppress(ItemsError):  # of the cell's part it is told already, and of the other one it does not matter
            of_run = items.read(folder, split)
            if of_run is not None:
                return int(of_run.parameters["trained"])
    return None


def remarks_of(trainings: Sequence[Tuple[Run, Result]]) -> List[str]:
    """
    Say what to know about finished trainings before their numbers are believed: above all what they have read that is
    no longer what it was.

    # Parameters

    trainings : with what they have left; of one experiment, whose seeds read the same.
    """
    remarks = []
    inputs: Mapping[str, str] = {}
    for run, _ in trainings[:1]:
        try:
            inputs = inputs_of(run.config, run.variables)
        except (EngineError, OSError) as error:  # the first one is about the biLM
            remarks.append(f"{run.name}: {error}")
    for run, result in trainings:
        others = changed(result.inputs, inputs)
        old = f"{' and '.join(others)} have changed since. To train again remove {run.folder}" if others else ""
        remarks += [f"{run.name}: {remark}" for remark in (old, result.remark) if remark]
    return remarks
