"""A sheet of text in columns, for the terminal and in files: Markdown, LaTeX and, with the numbers behind it, CSV."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from elmo_plugin.benchmark.table import table as markdown_table
from elmo_plugin.formats.atomic import replacing

_LATEX = str.maketrans({"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "±": r"$\pm$", "<": "$<$", "-": "{-}"})
_MINUS = re.compile(r"(?<!\w)\{-\}(?=\d)")


@dataclass(frozen=True)
class Sheet:
    """
    What people read, and the numbers for programs.

    # Parameters

    title : one line.
    columns : their names.
    rows : of as many texts as there are columns.
    records : the same rows as numbers, not rounded, by the names of what they are; None where there is none.
    texts : how many columns hold words, on the left; the others hold numbers.
    remarks : what to know before the numbers are believed; below the table, each once, though it may be about several
        rows.
    legend : what the columns are; below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    records: Sequence[Mapping[str, Any]]
    texts: int = 3
    remarks: Sequence[str] = ()
    legend: str = ""

    def below(self) -> List[str]:
        """The remarks, each once."""
        return list(dict.fromkeys(self.remarks))


def show(sheet: Sheet, console: Console) -> None:
    """Print a sheet, as wide as it is: a narrow terminal may break lines, but not numbers."""
    columns = zip(sheet.columns, *sheet.rows)
    console.width = max(console.width, 1 + sum(3 + max(map(len, column)) for column in columns))
    table = Table(title=Text(sheet.title))  # which may hold a path with brackets
    for place, column in enumerate(sheet.columns):
        table.add_column(column, justify="left" if place < sheet.texts else "right")
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for text in filter(None, [sheet.legend, *sheet.below()]):
        console.print(text, markup=False, highlight=False)


def write(sheet: Sheet, folder: Path, name: str) -> List[Path]:
    """Write a sheet in every form, and return where."""
    paths = []
    for suffix, form in _FORMS.items():
        path = folder / f"{name}.{suffix}"
        # Several processes may be writing the same table.
        with replacing(path) as part:
            part.write_bytes(form(sheet).encode())
        paths.append(path)
    return paths


def markdown(sheet: Sheet) -> str:
    """Return the title, a table, its legend and the remarks."""
    remarks = "\n".join(f"- {remark}" for remark in sheet.below())
    table = markdown_table(sheet.columns, sheet.rows, sheet.texts)
    return "\n\n".join(filter(None, [sheet.title, table, sheet.legend, remarks])) + "\n"


def latex(sheet: Sheet) -> str:
    """Return a `tabular`, with the rules of the package booktabs; title, legend and remarks are comments."""
    alignment = "l" * sheet.texts + "r" * (len(sheet.columns) - sheet.texts)
    lines = [" & ".join(map(_latex, row)) + r" \\" for row in (sheet.columns, *sheet.rows)]
    body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    comments = ["% " + text.replace("\n", " ") for text in (sheet.title, sheet.legend, *sheet.below()) if text]
    return "\n".join([*comments, rf"\begin{{tabular}}{{{alignment}}}", *body, r"\end{tabular}", ""])


def _latex(text: str) -> str:
    return _MINUS.sub("$-$", text.translate(_LATEX))


def comma_separated(sheet: Sheet) -> str:
    """Return the numbers, a line of names first."""
    names: Dict[str, None] = dict.fromkeys(name for record in sheet.records for name in record)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(sheet.records)
    return text.getvalue()


_FORMS = {"md": markdown, "csv": comma_separated, "tex": latex}
