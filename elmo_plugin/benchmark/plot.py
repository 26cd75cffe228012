"""A report as a picture: words a second over the size of the batch."""

from pathlib import Path
from typing import Any, Dict, List, Tuple

Panel = Tuple[str, Dict[str, List[Tuple[int, float]]]]


class PlotError(RuntimeError):
    """There is nothing to draw with, or nothing to draw."""


def check() -> None:
    """Raise `PlotError` where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PlotError("a plot needs matplotlib: pip install matplotlib") from error


def panels(report: Dict[str, Any]) -> List[Panel]:
    """
    Return what is drawn: for each biLM, device, number of threads and order the points of each peer.

    # Parameters

    report : as `report.start` describes it.
    """
    found: Dict[str, Dict[str, List[Tuple[int, float]]]] = {}
    for result in report["speed"]:
        case = result["case"]
        where = f"{case['threads']} thread(s)" if case["device"] == "cpu" else case["device"]
        lines = found.setdefault(f"{case['size']}, {where}, {case['order']}", {})
        for peer in result["peers"]:
            if peer["words_per_second"] is not None:
                lines.setdefault(peer["name"], []).append((case["batch"], peer["words_per_second"]))
        if result["limit"] is not None:
            lines.setdefault("limit", []).append((case["batch"], result["limit"]["words_per_second"]))
    return [(title, {name: sorted(points) for name, points in lines.items()}) for title, lines in found.items()]


def draw(report: Dict[str, Any], path: Path) -> None:
    """Draw all panels into one file, whose suffix names the format."""
    check()
    from matplotlib.figure import Figure

    drawn = panels(report)
    if not drawn:
        raise PlotError("there are no speeds to draw")
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    figure = Figure(figsize=(6 * columns, 4 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(drawn) :]:
        axes.set_axis_off()
    for axes, (title, lines) in zip(grid.flat, drawn):
        for name, points in lines.items():
            style = {"linestyle": ":", "color": "gray"} if name == "limit" else {"marker": "o"}
            axes.loglog(*zip(*points), label=name, **style)
        batches = sorted({batch for points in lines.values() for batch, _ in points})
        axes.set_xticks(batches, [str(batch) for batch in batches], minor=False)
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set(title=title, xlabel="sentences in a batch", ylabel="words a second")
        axes.grid(alpha=0.3)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
