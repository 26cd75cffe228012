"""A table or a figure, printed and written in every form."""

import hashlib
import re
from pathlib import Path
from typing import Any, List, Optional, Sequence

from rich.console import Console

from elmo_plugin.benchmark.plot import PlotError
from elmo_plugin.formats import pretrained
from elmo_plugin.reproduction import pictures, sheet
from elmo_plugin.reproduction.layer_sheet import layer_sheet
from elmo_plugin.reproduction.score_sheet import score_sheet
from elmo_plugin.reproduction.sheet import Sheet
from elmo_plugin.reproduction.tuning_sheet import tuning_sheet
from elmo_plugin.reproduction.tunings import TABLE

#: what is in the name of no file
_NO_NAME = r"[^\w.-]+"
#: characters of a biLM's name in that of a file
_LONGEST = 60


def report(
    table: str,
    rows: Sequence[Any],
    scale: str,
    bilm: str,
    folder: Path,
    console: Console,
    tasks: Optional[Sequence[str]] = None,
    tuned: Sequence[str] = (),
) -> List[Path]:
    """
    Print what there is, and write it as Markdown, CSV, LaTeX and PNG; why there is no picture is printed too.

    # Parameters

    rows : `TuningRow` of table 7, which has no picture, and `Row` of all others.
    tasks : to print; all are written.
    tuned : the tasks on whose text the biLM is tuned.

    # Returns

    The files, which have the name of the table and, but for the built-in biLM, that of the biLM, with a digest of its
    path where it is a file, and of the tasks for which it is tuned.
    """
    chosen = [row for row in rows if tasks is None or row.task in tasks]
    sheet.show(_sheet(table, chosen, scale, bilm, tuned), console)
    made = _sheet(table, rows, scale, bilm, tuned)
    parts = [table]
    if bilm != pretrained.BUILTIN:
        parts.append(_name_of(bilm))
    if tuned:
        parts += ["tuned", *tuned]
    name = "-".join(parts)
    paths = sheet.write(made, folder, name)
    if table == TABLE:
        return paths
    picture = folder / f"{name}.png"
    try:
        pictures.draw(table, made.title, rows, picture)
    except PlotError as error:
        console.print(f"no picture: {error}")
        return paths
    return [*paths, picture]


def _name_of(bilm: str) -> str:
    if bilm in pretrained.names():
        return bilm
    digest = hashlib.sha256(bilm.encode()).hexdigest()[:8]
    return f"{re.sub(_NO_NAME, '_', Path(bilm).name)[:_LONGEST]}-{digest}"


def _sheet(table: str, rows: Sequence[Any], scale: str, bilm: str, tuned: Sequence[str]) -> Sheet:
    title = f"{table}, {scale} scale, biLM {bilm}" + (f", tuned for {', '.join(tuned)}" if tuned else "")
    if table == TABLE:
        return tuning_sheet(f"{title}: perplexity of the development text, mean (forward, backward)", rows, bilm)
    if table == "figure2":
        return layer_sheet(f"{title}: weights of the biLM's layers, mean over seeds", rows)
    return score_sheet(f"{title}: percent, mean ± standard deviation over seeds", rows, bilm)
