"""What ELMo does for the tasks of a table: its cells beside their baselines."""

from dataclasses import dataclass
from typing import List, Optional, Sequence

import numpy as np

from elmo_plugin.reproduction.measures import MEASURES
from elmo_plugin.reproduction.recorder import ItemsError
from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.scores import error_reduction
from elmo_plugin.reproduction.significance import paired_p_value


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
    ours, papers : the gain over the baseline; None where the row is one, or one of the two scores is missing. Ours is
        that of the seeds that both have.
    p_value : of the hypothesis that the two do not differ, over the texts of the items; None where these are not known.
    remarks : why there is no p-value, and of which seeds alone it or the gain is.
    seeds : that the gain is of.
    """

    row: Row
    ours: Optional[Gain] = None
    papers: Optional[Gain] = None
    p_value: Optional[float] = None
    remarks: Sequence[str] = ()
    seeds: Sequence[int] = ()


def compare(rows: Sequence[Row]) -> List[Comparison]:
    """Find the baseline of each row in the same table, and what the row gains over it."""
    baselines = {(row.cell.task, row.cell.percent): row for row in rows if row.cell.is_baseline}
    result = []
    for row in rows:
        base = baselines.get((row.cell.task, row.cell.percent))
        if base is None or base is row:
            result.append(Comparison(row))
            continue
        result.append(against(base, row))
    return result


def against(baseline: Row, improved: Row) -> Comparison:
    """Compare two rows, over the seeds that both have."""
    papers = gain(baseline.cell.paper, improved.cell.paper)
    seeds = sorted(baseline.found.keys() & improved.found.keys())
    name = f"{improved.cell.task}, {improved.cell.variant}"
    if not seeds:
        has_both = bool(baseline.found and improved.found)
        each = f"{_seeds(sorted(baseline.found))} of the baseline, {_seeds(sorted(improved.found))} of this"
        return Comparison(improved, None, papers, remarks=[f"{name}: no gain: {each}."] if has_both else [])
    before, after = (100 * sum(row.found[seed] for seed in seeds) / len(seeds) for row in (baseline, improved))
    remarks = []
    if baseline.found.keys() != improved.found.keys():
        remarks.append(f"{name}: the gain is of {_seeds(seeds)} alone, which both have.")
    scored = sorted(baseline.items.keys() & improved.items.keys())
    if scored != seeds:
        which = f"p is of {_seeds(scored)} alone, the gain of {_seeds(seeds)}" if scored else "no p"
        remarks.append(f"{name}: {which}: not all items are scored; `run` scores them where the weights are there.")
    p = None
    try:
        p = p_value(baseline, improved)
    except ItemsError as error:
        remarks.append(str(error))
    return Comparison(improved, gain(before, after), papers, p, remarks, seeds)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}"


def gain(baseline: Optional[float], improved: Optional[float]) -> Optional[Gain]:
    """Compare two scores in percent; None where one is missing."""
    if baseline is None or improved is None:
        return None
    return Gain(improved - baseline, error_reduction(baseline, improved))


def p_value(baseline: Row, improved: Row) -> Optional[float]:
    """
    Test the difference of two rows over the texts of their items, with the trainings of the seeds that both have.

    # Raises

    `ItemsError` where the items are not the same.
    """
    seeds = sorted(baseline.items.keys() & improved.items.keys())
    if not seeds:
        return None
    first = baseline.items[seeds[0]]
    for row in (baseline, improved):
        for seed in seeds:
            other = row.items[seed]
            if (other.digest, other.measure, other.groups) != (first.digest, first.measure, first.groups):
                raise ItemsError(
                    f"{baseline.cell.variant}, seed {seeds[0]}, has {len(first.numbers)} scored items, "
                    f"{row.cell.variant}, seed {seed}, {len(other.numbers)} others: the data have changed between the "
                    "two. Remove the folder of the old one and run again."
                )
    numbers = [np.array([row.items[seed].numbers for seed in seeds], dtype=float) for row in (baseline, improved)]
    return paired_p_value(numbers[0], numbers[1], np.array(first.groups), MEASURES[first.measure].score)
