"""
The plot of a word's occurrences, as the JSON that Plotly takes.

Colours of text, axes and grids come from the page's style sheet, so that a plot follows light and dark without being
made again. Plotly reads its labels as a kind of HTML: every word goes through `label`.
"""

import html
from typing import Any, Dict, List, NamedTuple

from elmo_plugin.explorer.occurrences import Occurrence
from elmo_plugin.explorer.spread import Spread
from elmo_plugin.probes.sense_names import sense_name

Figure = Dict[str, Any]

#: Okabe and Ito's colours, which colour-blind readers tell apart, with a shape each
_STYLES = (
    ("#0072b2", "circle", "●"),
    ("#e69f00", "square", "■"),
    ("#009e73", "diamond", "◆"),
    ("#cc79a7", "triangle-up", "▲"),
    ("#56b4e9", "triangle-down", "▼"),
    ("#b0a000", "cross", "✚"),
)
_OTHERS = ("#8a8a8a", "x", "✖")
_PAGE = ("#d55e00", "star", "★")
_LONGEST_LABEL = 24
_CONTEXT = 8
#: pixels
_HEIGHT = 440


def label(word: str) -> str:
    """A word as it stands in a plot: no markup, not too long."""
    return html.escape(word if len(word) <= _LONGEST_LABEL else word[: _LONGEST_LABEL - 1] + "…", quote=False)


class Group(NamedTuple):
    """
    Occurrences that look alike in a plot.

    # Parameters

    name : for people.
    colour, symbol : of the points, `symbol` as Plotly calls it.
    sign : that looks like the symbol, for text.
    places : of the occurrences.
    """

    name: str
    colour: str
    symbol: str
    sign: str
    places: List[int]


def groups(found: Spread) -> List[Group]:
    """Sort occurrences by sense: a group for each of the most frequent ones, one for the others, one for the page."""
    everywhere = range(len(found.occurrences))
    named = [sense for sense, _ in found.senses[: len(_STYLES)]]
    result: List[Group] = []
    for (sense, count), style in zip(found.senses, _STYLES):
        places = [place for place in everywhere if found.occurrences[place].sense == sense]
        result.append(Group(f"{sense_name(sense)} ({count})", *style, places))
    outside = [place for place in everywhere if not found.occurrences[place].on_page]
    others = [place for place in outside if found.occurrences[place].sense not in named]
    name = f"other senses ({len(others)})" if found.senses else f"in the indexed text ({len(others)})"
    result.append(Group(name, *_OTHERS, others))
    here = [place for place in everywhere if found.occurrences[place].on_page]
    result.append(Group("on this page, with the number of the sentence", *_PAGE, here))
    return [group for group in result if group.places]


def scatter(found: Spread) -> Figure:
    """Draw the occurrences of a word, a colour and a shape for each of the most frequent senses."""
    layout = _layout(_HEIGHT)
    layout["showlegend"] = False
    for axis, number, share in (("xaxis", "first", found.shares[0]), ("yaxis", "second", found.shares[1])):
        layout[axis].update(title={"text": f"{number} component, {100 * share:.0f} % of the variance"})
    return {"data": [_points(found, group) for group in groups(found)], "layout": layout}


def _points(found: Spread, group: Group) -> Dict[str, Any]:
    numbers = [found.occurrences[place].number for place in group.places]
    is_here = all(numbers)
    return {
        "type": "scatter",
        "mode": "markers+text" if is_here else "markers",
        "text": [str(number) if number else "" for number in numbers],
        "textposition": "top center",
        "x": found.points[group.places, 0].round(3).tolist(),
        "y": found.points[group.places, 1].round(3).tolist(),
        "marker": {"color": group.colour, "symbol": group.symbol, "size": 14 if is_here else 8, "opacity": 0.85},
        "customdata": [_in_context(found.occurrences[place]) for place in group.places],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _in_context(one: Occurrence) -> str:
    start = max(0, one.start - _CONTEXT)
    before = [label(token) for token in one.tokens[start : one.start]]
    after = [label(token) for token in one.tokens[one.stop : one.stop + _CONTEXT]]
    word = " ".join(label(token) for token in one.tokens[one.start : one.stop])
    parts = ["…"] * (start > 0) + before + [f"<b>{word}</b>"] + after
    source = html.escape(one.source, quote=False)
    sense = f"<br>{html.escape(sense_name(one.sense), quote=False)}" if one.sense else ""
    return f"{' '.join(parts)}{' …' if one.stop + _CONTEXT < len(one.tokens) else ''}<br>{source}{sense}"


def _layout(height: int) -> Dict[str, Any]:
    axis = {"automargin": True, "fixedrange": True, "ticks": "", "showgrid": True, "zeroline": False}
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 4},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "inherit", "size": 13},
        "hoverlabel": {
            "bgcolor": "#222",
            "bordercolor": "#222",
            "font": {"color": "#fff", "size": 13},
            "align": "left",
        },
        "dragmode": False,
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }
