"""A table of the paper with our scores beside the paper's, for the terminal and in files."""

import csv
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from rich.console import Console
from rich.table import Table

from elmo_plugin.reproduction.cells import BASELINE
from elmo_plugin.reproduction.tables import Row, gain

COLUMNS = ("task", "cell", "score", "ours", "seeds", "gain", "errors", "paper", "its gain", "its errors", "minutes")


def lines(rows: Sequence[Row]) -> List[List[str]]:
    """
    Set the rows as text, in the order of `COLUMNS`.

    A gain is over the baseline of the same task in the same table, in points; the errors are those of the baseline
    that are gone, in percent of them.
    """
    baselines: Dict[str, Row] = {row.cell.task: row for row in rows if row.cell.variant == BASELINE}
    result = []
    for row in rows:
        base = baselines.get(row.cell.task)
        is_compared = base is not None and base is not row
        ours = gain(_mean(base), _mean(row)) if is_compared else None
        papers = gain(base.cell.paper, row.cell.paper) if is_compared and base is not None else None
        result.append(
            [
                row.cell.task,
                row.cell.variant,
                row.cell.split,
                str(row.score or ""),
                str(len(row.found) or ""),
                f"{ours.absolute:+.1f}" if ours else "",
                f"{-ours.relative:+.1f}%" if ours else "",
                _paper(row),
                f"{papers.absolute:+.1f}" if papers else "",
                f"{-papers.relative:+.1f}%" if papers else "",
                "" if row.seconds is None else f"{row.seconds / 60:.1f}",
            ]
        )
    return result


def _mean(row: Optional[Row]) -> Optional[float]:
    return row.score.mean if row is not None and row.score is not None else None


def _paper(row: Row) -> str:
    if row.cell.paper is None:
        return ""
    deviation = row.cell.paper_deviation
    return f"{row.cell.paper:g}" + ("" if deviation is None else f" ± {deviation:g}")


def show(title: str, rows: Sequence[Row], console: Console) -> None:
    """Print a table."""
    table = Table(title=title)
    for place, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if place < 3 else "right")
    for line in lines(rows):
        table.add_row(*line)
    console.print(table)


def write(title: str, rows: Sequence[Row], folder: Path, name: str) -> List[Path]:
    """Write a table as Markdown and as CSV, and return where."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown, comma = folder / f"{name}.md", folder / f"{name}.csv"
    body = [COLUMNS, ["---"] * 3 + ["---:"] * (len(COLUMNS) - 3), *lines(rows)]
    text = "\n".join("| " + " | ".join(line) + " |" for line in body)
    markdown.write_text(f"{title}\n\n{text}\n", encoding="utf-8")
    with open(comma, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *lines(rows)])
    return [markdown, comma]
