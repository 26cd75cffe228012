"""Tables and figures as pictures."""

import math
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from elmo_plugin.benchmark.plot import PlotError, check
from elmo_plugin.formats.atomic import replacing
from elmo_plugin.reproduction.comparison import against
from elmo_plugin.reproduction.layer_sheet import LayerWeights, band, layer_name, layer_weights, layers_of
from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.scores import Score

#: how a source is drawn, and how far above its line
_STYLES: Dict[str, Tuple[Dict[str, Any], float]] = {
    "ours": ({"marker": "o", "color": "C0", "linestyle": ""}, 0.12),
    "paper": ({"marker": "D", "color": "C1", "linestyle": "", "fillstyle": "none"}, -0.12),
}


def draw(table: str, title: str, rows: Sequence[Row], path: Path) -> None:
    """
    Draw a table or a figure into a PNG file.

    # Raises

    `PlotError` where matplotlib is not installed or nothing is measured yet.
    """
    check()
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    if table == "figure2":
        _layers(figure, layer_weights(rows))
    elif table == "figure1":
        _over_data(figure, [row for row in rows if row.found])
    else:
        _scores(figure, rows)
    # It may hold a path with dollars, between which matplotlib sets formulas.
    figure.suptitle(title.replace("$", r"\$"), fontsize="medium", wrap=True)
    with replacing(path) as part:
        figure.savefig(part, format="png", dpi=150)


def _panels(figure: Any, rows: Sequence[Row]) -> List[Tuple[Any, List[Row]]]:
    """Side by side, one for each task."""
    by_task: Dict[str, List[Row]] = {}
    for row in rows:
        by_task.setdefault(row.cell.task, []).append(row)
    if not any(row.found for row in rows):
        raise PlotError("there are no scores to draw")
    figure.set_size_inches(1 + 4 * min(3, len(by_task)), 1 + 3 * -(-len(by_task) // 3))
    grid = figure.subplots(-(-len(by_task) // 3), min(3, len(by_task)), squeeze=False)
    for axes in grid.flat[len(by_task) :]:
        axes.set_axis_off()
    return [(axes, rows_of_task) for axes, rows_of_task in zip(grid.flat, by_task.values())]


def _scores(figure: Any, rows: Sequence[Row]) -> None:
    """
    Each cell a line, with our score and its standard deviation above the paper's.

    Both are drawn as points above those of the first cell that has a score, the baseline where it is measured: the
    models are not the same, and it is the differences that compare. A gain is that of the table, of the seeds that
    both have; the bars are the spread of the score. The scores themselves stand beside the marks.
    """
    for axes, cells in _panels(figure, rows):
        origin = next((row for row in cells if row.score is not None), cells[0])
        for height, row in enumerate(reversed(cells)):
            if row.score is not None and origin.score is not None:
                gained = None if row is origin else against(origin, row).ours
                above = row.score.mean - origin.score.mean if gained is None else gained.absolute
                _mark(axes, "ours", row.score, above, height)
            if row.cell.paper is not None and origin.cell.paper is not None:
                _mark(axes, "paper", Score(row.cell.paper, math.nan), row.cell.paper - origin.cell.paper, height)
        axes.set_yticks(range(len(cells)), [row.cell.variant for row in reversed(cells)])
        axes.set(title=f"{cells[0].cell.task}, {cells[0].cell.split}", ylim=(-0.6, len(cells) - 0.4))
        axes.set(xlabel=f"points above {origin.cell.variant}", xmargin=0.15)
        axes.grid(alpha=0.3)
    handles = [figure.axes[0].plot([], [], label=source, **style)[0] for source, (style, _) in _STYLES.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _mark(axes: Any, source: str, score: Score, above: float, height: float) -> None:
    style, shift = _STYLES[source]
    spread = None if math.isnan(score.deviation) else score.deviation
    place = (above, height + shift)
    axes.errorbar(*place, xerr=spread, capsize=3, **style)
    axes.annotate(
        f"{score.mean:.1f}",
        place,
        xytext=(0, 5 if shift > 0 else -14),
        textcoords="offset points",
        ha="center",
        fontsize="small",
        color=style["color"],
    )


def _over_data(figure: Any, rows: Sequence[Row]) -> None:
    """
    A line for the models without and one for those with ELMo, over the share of the training data. A task without a
    part of it has none: that of all data is in table 1 too, and makes no line.
    """
    tasks = {row.cell.task for row in rows if row.cell.percent < 100}
    for axes, cells in _panels(figure, [row for row in rows if row.cell.task in tasks]):
        for label, is_baseline in (("baseline", True), ("ELMo", False)):
            line = [row for row in cells if row.cell.is_baseline == is_baseline]
            scores = [row.score for row in line if row.score is not None]
            axes.errorbar(
                [row.cell.percent for row in line],
                [score.mean for score in scores],
                yerr=[score.deviation if len(row.found) > 1 else 0.0 for row, score in zip(line, scores)],
                marker="o",
                capsize=3,
                label=label,
            )
        percents = sorted({row.cell.percent for row in cells})
        axes.set_xscale("log")
        axes.set_xticks(percents, [f"{percent:g} %" for percent in percents])
        axes.set_xticks([], minor=True)
        axes.set(title=cells[0].cell.task, xlabel="of the training data", ylabel=f"{cells[0].cell.split}, percent")
        axes.grid(alpha=0.3)
        axes.legend()


def _layers(figure: Any, found: Sequence[LayerWeights]) -> None:
    """
    Tasks by layers, at the input and at the output of the tasks' encoders.

    As in the paper, what is below one third is hatched with lines, and what is above two thirds is speckled.
    """
    from matplotlib.patches import Rectangle

    if not found:
        raise PlotError("there are no weights of layers to draw")
    layers = layers_of(found)
    places = [place for place in ("input", "output") if any(one.place == place for one in found)]
    tasks = sorted({one.task for one in found})
    figure.set_size_inches(2 + len(layers) * len(places), 1.5 + 0.6 * len(tasks))
    for axes, place in zip(figure.subplots(1, len(places), squeeze=False)[0], places):
        of_place = [one for one in found if one.place == place]
        for height, one in enumerate(reversed(of_place)):
            for column, layer in enumerate(layers):
                weight = one.weights.get(layer)
                if weight is not None:
                    axes.add_patch(Rectangle((column, height), 1, 1, **cell_style(weight)))
                    axes.text(
                        column + 0.5,
                        height + 0.5,
                        f"{weight:.2f}",
                        ha="center",
                        va="center",
                        bbox={"color": "white", "pad": 1},
                    )
        axes.set_xticks([column + 0.5 for column in range(len(layers))], [layer_name(layer) for layer in layers])
        axes.set_yticks([row + 0.5 for row in range(len(of_place))], [one.task for one in reversed(of_place)])
        axes.set(title=place, xlim=(0, len(layers)), ylim=(0, len(of_place)))


def cell_style(weight: float) -> Dict[str, Any]:
    """How the weight of a layer looks: the larger the darker, hatched below one third, speckled above two."""
    hatch = {"low": "--", "middle": None, "high": ".."}[band(weight)]
    shade = min(max(weight, 0.0), 1.0)  # weights that are fixed may be any
    return {"facecolor": (1 - 0.8 * shade, 1 - 0.4 * shade, 1 - 0.6 * shade), "edgecolor": "black", "hatch": hatch}
