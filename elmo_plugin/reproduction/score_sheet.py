"""Our scores beside the paper's, as a sheet."""

import math
from typing import Any, Dict, List, Optional, Sequence

from elmo_plugin.benchmark.machine import short
from elmo_plugin.reproduction.comparison import Comparison, Gain, compare
from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.sheet import Sheet

LEGEND = (
    "cell: the task's model, \"tuned\" with a biLM that was tuned on the task's text first; score: on this part "
    "of the data; ours: percent, mean ± standard deviation over so many seeds; gain: over the baseline of the "
    "task, in points; errors: the change of the baseline's errors; p: that the two do not differ, over the "
    "items' texts; paper, its gain, its errors: the same of Peters et al. (2018); weights: those that are trained; "
    "minutes: of a training, on a machine that may have been busy; commit: of this package."
)
COLUMNS = (
    "task",
    "cell",
    "score",
    "ours",
    "seeds",
    "gain",
    "errors",
    "p",
    "paper",
    "its gain",
    "its errors",
    "weights",
    "minutes",
    "commit",
)


def score_sheet(title: str, rows: Sequence[Row], bilm: str) -> Sheet:
    """
    Set the cells of a table, one a line.

    A gain is over the baseline of the same task in the same table, in points; the errors are those of the baseline
    that are gone, in percent of them; p is that of `paired_p_value`; the weights are those that are trained. A cell
    whose biLM is tuned on the task's text says so.
    """
    compared = compare(rows)
    remarks = [remark for one in compared for remark in (*one.row.remarks, *one.remarks)]
    records = [record(one, bilm) for one in compared]
    return Sheet(title, COLUMNS, list(map(texts, compared)), records, remarks=remarks, legend=LEGEND)


def texts(compared: Comparison) -> List[str]:
    """Return a line for people, in the order of `COLUMNS`."""
    row, ours, papers = compared.row, compared.ours, compared.papers
    return [
        row.cell.task,
        f"{row.cell.variant}, tuned" if row.is_tuned else row.cell.variant,
        row.cell.split,
        str(row.score or ""),
        str(len(row.found) or ""),
        f"{ours.absolute:+.1f}" if ours else "",
        _errors(ours),
        p_text(compared.p_value),
        row.cell.printed,
        f"{papers.absolute:+.1f}" if papers else "",
        _errors(papers),
        "" if row.parameters is None else f"{row.parameters:,}",
        "" if row.seconds is None else f"{row.seconds / 60:.1f}",
        ", ".join(map(short, row.commits)),
    ]


def record(compared: Comparison, bilm: str) -> Dict[str, Any]:
    """Return a line for programs: scores and errors that are gone in percent, None where nothing is known."""
    row, ours, papers = compared.row, compared.ours, compared.papers
    deviation = row.score.deviation if row.score else None
    return {
        "task": row.cell.task,
        "cell": row.cell.variant,
        "split": row.cell.split,
        "percent_of_data": row.cell.percent,
        "mean": row.score.mean if row.score else None,
        "deviation": None if deviation is None or math.isnan(deviation) else deviation,
        "seeds": len(row.found),
        "seeds_compared": len(compared.seeds),
        "gain": ours.absolute if ours else None,
        "error_reduction": ours.relative if ours and not math.isnan(ours.relative) else None,
        "p_value": compared.p_value,
        "paper": row.cell.paper,
        "paper_deviation": row.cell.paper_deviation,
        "paper_gain": papers.absolute if papers else None,
        "paper_error_reduction": papers.relative if papers else None,
        "trained_weights": row.parameters,
        "seconds": row.seconds,
        "commit": " ".join(row.commits),
        "bilm": None if row.cell.is_baseline else bilm,
        "is_tuned": row.is_tuned,
    }


def p_text(value: Optional[float]) -> str:
    """Return a probability for people."""
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _errors(gained: Optional[Gain]) -> str:
    """What becomes of the baseline's errors; nothing where it has none."""
    return "" if gained is None or math.isnan(gained.relative) else f"{-gained.relative:+.1f}%"
