"""A table or a figure, printed and written in every form."""

import hashlib
import re
from pathlib import Path
from typing import Any, List, Optional, Sequence, Union, cast

from rich.console import Console

from elmo_plugin.benchmark.plot import PlotError
from elmo_plugin.formats import pretrained
from elmo_plugin.reproduction import pictures, sheet
from elmo_plugin.reproduction.cells import check_tasks
from elmo_plugin.reproduction.layer_sheet import layer_sheet
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.planning import Request
from elmo_plugin.reproduction.results import Row, collect
from elmo_plugin.reproduction.score_sheet import score_sheet
from elmo_plugin.reproduction.sheet import Sheet
from elmo_plugin.reproduction.tuning_sheet import TuningRow, collect_tunings, tuning_sheet
from elmo_plugin.reproduction.tunings import TABLE, TuningPlan

#: of one table
Rows = Union[List[Row], List[TuningRow]]

#: what is in the name of no file
_NO_NAME = r"[^\w.-]+"
#: characters of a biLM's name in that of a file
_LONGEST = 60


def rows_of(request: Request, tasks: Optional[Sequence[str]] = None) -> Rows:
    """
    Read what there is of a table, of all seeds and tasks.

    # Parameters

    tasks : that are asked for.

    # Raises

    `CellError` where there is no such table, or it does not have one of the tasks; `EngineError` about the biLM.
    """
    plan = request.plan(None, None)
    check_tasks(request.table, tasks, [task for task, _ in plan.experiments()])
    return collect_tunings(plan) if isinstance(plan, TuningPlan) else collect(cast(Plan, plan))


def print_table(request: Request, rows: Rows, console: Console, tasks: Optional[Sequence[str]] = None) -> None:
    """
    Print what there is.

    # Parameters

    rows : of `rows_of`.
    tasks : to print; all where it is None.
    """
    sheet.show(_sheet(request, [row for row in rows if tasks is None or row.task in tasks]), console)


def write_table(request: Request, rows: Rows, folder: Path, console: Console) -> List[Path]:
    """
    Write what there is as Markdown, CSV, LaTeX and PNG; why there is no picture is printed.

    # Parameters

    rows : of `rows_of`; table 7 has no picture.
    folder : of the files, made where it is not there.

    # Returns

    The files, which have the name of the table and, but for the built-in biLM, that of the biLM, with a digest of its
    path where it is a file, and of the tasks for which it is tuned.
    """
    made = _sheet(request, rows)
    parts = [request.table]
    if request.bilm != pretrained.BUILTIN:
        parts.append(_name_of(request.bilm))
    if request.tuned:
        parts += ["tuned", *_tuned(request)]
    name = "-".join(parts)
    paths = sheet.write(made, folder, name)
    if request.table == TABLE:
        return paths
    picture = folder / f"{name}.png"
    try:
        pictures.draw(request.table, made.title, cast(List[Row], rows), picture)
    except PlotError as error:
        console.print(f"no picture: {error}")
        return paths
    return [*paths, picture]


def _name_of(bilm: str) -> str:
    if bilm in pretrained.names():
        return bilm
    digest = hashlib.sha256(bilm.encode()).hexdigest()[:8]
    return f"{re.sub(_NO_NAME, '_', Path(bilm).name)[:_LONGEST]}-{digest}"


def _tuned(request: Request) -> List[str]:
    return sorted(set(request.tuned))


def _sheet(request: Request, rows: Sequence[Any]) -> Sheet:
    table, bilm, tuned = request.table, request.bilm, _tuned(request)
    title = f"{table}, {request.scale} scale, biLM {bilm}" + (f", tuned for {', '.join(tuned)}" if tuned else "")
    if table == TABLE:
        return tuning_sheet(f"{title}: perplexity of the development text, mean (forward, backward)", rows, bilm)
    if table == "figure2":
        return layer_sheet(f"{title}: weights of the biLM's layers, mean over seeds", rows)
    return score_sheet(f"{title}: percent, mean ± standard deviation over seeds", rows, bilm)
