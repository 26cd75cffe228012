"""Collect what there is of a table, and compare it with its baselines."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Sequence

import numpy as np

from elmo_plugin.reproduction import items, training
from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.items import Items, ItemsError
from elmo_plugin.reproduction.measures import MEASURES
from elmo_plugin.reproduction.scores import Score, error_reduction, score
from elmo_plugin.reproduction.significance import paired_p_value
from elmo_plugin.reproduction.tables import Plan


@dataclass(frozen=True)
class Row:
    """
    A cell with what was measured.

    # Parameters

    cell : of the table.
    found : the fractions that its finished runs scored.
    seconds : the mean of a training; None where nothing is finished.
    commits : of the package in these runs, each once, as far as they are known.
    items : what the models of these runs make of each item, by the folder of the run, as far as they were asked.
    """

    cell: Cell
    found: Sequence[float] = ()
    seconds: Optional[float] = None
    commits: Sequence[str] = ()
    items: Dict[Path, Items] = field(default_factory=dict)

    @property
    def score(self) -> Optional[Score]:
        """In percent."""
        return score(self.found) if self.found else None

    @property
    def parameters(self) -> Optional[int]:
        """How many weights are trained."""
        return next((of_run.parameters["trained"] for of_run in self.items.values()), None)


def collect(plan: Plan) -> List[Row]:
    """Read the results of the runs that are finished."""
    rows = []
    for cell in plan.cells:
        folders = [run.folder for run in plan.runs_of(cell) if training.is_finished(run.folder)]
        results = [training.collect(folder) for folder in folders]
        found = [one.score(cell.split) for one in results]
        seconds = sum(one.seconds for one in results) / len(results) if results else None
        commits = sorted({one.commit for one in results if one.commit is not None})
        read = {folder: items.read(folder, cell.split) for folder in folders}
        of_runs = {folder: of_run for folder, of_run in read.items() if of_run is not None}
        rows.append(Row(cell, found, seconds, commits, of_runs))
    return rows


@dataclass(frozen=True)
class Gain:
    """What ELMo does for a task, in points and as the share of the errors that are gone, in percent."""

    absolute: float
    relative: float


@dataclass(frozen=True)
class Comparison:
    """
    A row beside the baseline of its task, on as much of the data.

    # Parameters

    row : of the table.
    ours, papers : the gain over the baseline; None where the row is one, or one of the two scores is missing.
    p_value : of the hypothesis that the two do not differ, over the items; None where their items are not known.
    """

    row: Row
    ours: Optional[Gain] = None
    papers: Optional[Gain] = None
    p_value: Optional[float] = None


def compare(rows: Sequence[Row]) -> List[Comparison]:
    """Find the baseline of each row in the same table, and what the row gains over it."""
    baselines = {(row.cell.task, row.cell.percent): row for row in rows if row.cell.is_baseline}
    result = []
    for row in rows:
        base = baselines.get((row.cell.task, row.cell.percent))
        if base is None or base is row:
            result.append(Comparison(row))
            continue
        ours = gain(base.score.mean if base.score else None, row.score.mean if row.score else None)
        result.append(Comparison(row, ours, gain(base.cell.paper, row.cell.paper), p_value(base, row)))
    return result


def gain(baseline: Optional[float], improved: Optional[float]) -> Optional[Gain]:
    """Compare two scores in percent; None where one is missing."""
    if baseline is None or improved is None:
        return None
    return Gain(improved - baseline, error_reduction(baseline, improved))


def p_value(baseline: Row, improved: Row) -> Optional[float]:
    """
    Test the difference of two rows over the items, with the trainings of as many seeds as both have.

    # Raises

    `ItemsError` where the items are not the same.
    """
    seeds = min(len(baseline.items), len(improved.items))
    if not seeds:
        return None
    both = [list(row.items.items())[:seeds] for row in (baseline, improved)]
    (folder, first), others = both[0][0], [*both[0][1:], *both[1]]
    for other, of_run in others:
        if (of_run.digest, of_run.measure, len(of_run.numbers)) != (first.digest, first.measure, len(first.numbers)):
            raise ItemsError(
                f"{folder} has {len(first.numbers)} scored items, {other} {len(of_run.numbers)} others: the data have "
                "changed between the two. Remove the folder with the old ones and run again."
            )
    numbers = [np.array([of_run.numbers for _, of_run in of_row], dtype=float) for of_row in both]
    return paired_p_value(numbers[0], numbers[1], MEASURES[first.measure].score)
