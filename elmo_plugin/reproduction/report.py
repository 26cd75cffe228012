"""A table or a figure, printed and written in every form."""

from pathlib import Path
from typing import List, Sequence

from rich.console import Console

from elmo_plugin.benchmark.plot import PlotError
from elmo_plugin.reproduction import pictures, sheet
from elmo_plugin.reproduction.layer_sheet import layer_sheet
from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.score_sheet import score_sheet


def report(table: str, rows: Sequence[Row], scale: str, bilm: str, folder: Path, console: Console) -> List[Path]:
    """
    Print what there is, and write it as Markdown, CSV, LaTeX and PNG; why there is no picture is printed too.

    # Returns

    The files.
    """
    title = f"{table}, {scale} scale, biLM {bilm}"
    if table == "figure2":
        made = layer_sheet(f"{title}: weights of the biLM's layers, mean over seeds", rows)
    else:
        made = score_sheet(f"{title}: percent, mean ± standard deviation over seeds", rows, bilm)
    sheet.show(made, console)
    paths = sheet.write(made, folder, table)
    picture = folder / f"{table}.png"
    try:
        pictures.draw(table, made.title, rows, picture)
    except PlotError as error:
        console.print(f"no picture: {error}")
        return paths
    return [*paths, picture]
