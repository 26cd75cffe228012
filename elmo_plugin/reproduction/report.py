"""A table or a figure, printed and written in every form."""

from pathlib import Path
from typing import Any, List, Sequence

from rich.console import Console

from elmo_plugin.benchmark.plot import PlotError
from elmo_plugin.reproduction import pictures, sheet
from elmo_plugin.reproduction.layer_sheet import layer_sheet
from elmo_plugin.reproduction.score_sheet import score_sheet
from elmo_plugin.reproduction.tuning_sheet import tuning_sheet
from elmo_plugin.reproduction.tunings import TABLE


def report(table: str, rows: Sequence[Any], scale: str, bilm: str, folder: Path, console: Console) -> List[Path]:
    """
    Print what there is, and write it as Markdown, CSV, LaTeX and PNG; why there is no picture is printed too.

    # Parameters

    rows : `TuningRow` of table 7, which has no picture, and `Row` of all others.

    # Returns

    The files.
    """
    title = f"{table}, {scale} scale, biLM {bilm}"
    if table == TABLE:
        made = tuning_sheet(f"{title}: perplexity of the development text, mean (forward, backward)", rows, bilm)
    elif table == "figure2":
        made = layer_sheet(f"{title}: weights of the biLM's layers, mean over seeds", rows)
    else:
        made = score_sheet(f"{title}: percent, mean ± standard deviation over seeds", rows, bilm)
    sheet.show(made, console)
    paths = sheet.write(made, folder, table)
    if table == TABLE:
        return paths
    picture = folder / f"{table}.png"
    try:
        pictures.draw(table, made.title, rows, picture)
    except PlotError as error:
        console.print(f"no picture: {error}")
        return paths
    return [*paths, picture]
