"""Results as HTML. All text goes in as text: nothing that a visitor typed is read as markup."""

import math
from typing import Any, List, Optional, Sequence

from dash import html

from elmo_plugin.explorer.figures import groups
from elmo_plugin.explorer.nearest import LayerNeighbors
from elmo_plugin.explorer.spread import Spread
from elmo_plugin.explorer.surprisal import Surprisal, WordSurprisal
from elmo_plugin.neighbors.query import TokenNeighbor, WordNeighbor
from elmo_plugin.reproduction.layer_sheet import LayerWeights, band, layer_name, layers_of

_CONTEXT = 5
#: occurrences below which principal components say little
_FEW = 5

Component = Any


def message(text: str, is_error: bool = False) -> Component:
    """A sentence in the place of a result."""
    return html.P(text, className="message error" if is_error else "message", role="alert" if is_error else None)


def neighbors(found: Sequence[LayerNeighbors], is_index: bool) -> Component:
    """A block for each layer."""
    return html.Div([_layer(one, is_index) for one in found], className="layers")


def _layer(found: LayerNeighbors, is_index: bool) -> Component:
    if found.layer == 0:
        title, rows = "nearest words, by the spelling alone", [_static(one) for one in found.words]
    else:
        title, rows = "nearest words in their sentences", [_token(one, is_index) for one in found.tokens]
    recall = "" if found.recall is None else f", approximate search (finds {100 * found.recall:.0f} %)"
    content = html.Table(html.Tbody(rows)) if rows else message("Nothing to compare with: add another sentence.")
    heading = [layer_name(found.layer), html.Span(f": {title}{recall}", className="quiet")]
    return html.Div([html.H3(heading), content], className=f"layer layer-{min(found.layer, 1)}")


def _static(one: WordNeighbor) -> Component:
    times = "once" if one.occurrences == 1 else f"{one.occurrences:,} times"
    return html.Tr([_similarity(one.similarity), html.Td(html.Bdi(one.word, className="word")), _quiet(times)])


def _token(one: TokenNeighbor, is_index: bool) -> Component:
    start, stop = max(0, one.position - _CONTEXT), one.position + 1 + _CONTEXT
    before = ("… " if start else "") + " ".join(one.tokens[start : one.position])
    after = " ".join(one.tokens[one.position + 1 : stop]) + (" …" if stop < len(one.tokens) else "")
    line = f"{'line' if is_index else 'sentence'} {one.line + 1}"
    context = [before, " ", html.Mark(one.tokens[one.position]), " ", after]
    return html.Tr([_similarity(one.similarity), html.Td(html.Bdi(context)), _quiet(line)])


def _similarity(value: float) -> Component:
    return html.Td(f"{value:.2f}", className="number")


def _quiet(text: str) -> Component:
    return html.Td(text, className="quiet")


def about_spread(found: Spread, form: str, layer: int, most: int) -> Component:
    """What is shown, and what not."""
    here = sum(one.on_page for one in found.occurrences)
    text = [html.Bdi(form, className="word"), f": {here} on this page"]
    outside = len(found.occurrences) - here
    if outside:
        text.append(f", {outside} of {found.total:,} elsewhere" if found.total > most else f", {outside} elsewhere")
    if layer == 0:
        text.append(". Layer 0 knows nothing of the sentence: all occurrences of one form are one point")
    elif len(found.occurrences) < _FEW:
        text.append(". So few points lie in a plane by themselves: their distances say little")
    return html.P([*text, "."], className="about")


def legend(found: Spread) -> Component:
    """What the colours and shapes of the plot are."""
    items = [
        html.Li([html.Span(f"{group.sign} ", style={"color": group.colour}, **{"aria-hidden": "true"}), group.name])
        for group in groups(found)
    ]
    return html.Ul(items, className="legend")


def surprisals(found: Surprisal) -> Component:
    """A line for each word, with a bar from each side."""
    values = [value for one in found.words for value in (one.forward, one.backward) if not math.isnan(value)]
    most = max(values)
    head = html.Tr(
        [
            html.Th("forward, given the left", scope="col", className="left"),
            html.Th("word", scope="col"),
            html.Th("backward, given the right", scope="col"),
        ]
    )
    rows = [_surprisal(one, most, is_first=not place) for place, one in enumerate(found.words)]
    unknown = any(one.is_unknown for one in found.words)
    note = " * not in the vocabulary: the bits of any unknown word." if unknown else ""
    return html.Div(
        [
            html.Table([html.Thead(head), html.Tbody(rows)], className="surprisal"),
            html.P(f"Perplexity {found.perplexity:,.1f}, over both directions and with the boundaries.{note}"),
        ]
    )


def _surprisal(one: WordSurprisal, most: float, is_first: bool) -> Component:
    name: List[Component] = [html.Bdi(one.word), "*" if one.is_unknown else ""]
    if not one.word:
        name = [html.Span("begin" if is_first else "end", className="quiet")]
    return html.Tr(
        [
            html.Td(_bar(one.forward, most), className="left"),
            html.Th(name, scope="row"),
            html.Td(_bar(one.backward, most)),
        ]
    )


def _bar(bits: float, most: float) -> Optional[Component]:
    if math.isnan(bits):
        return None
    style = {"--share": f"{bits / most if most > 0 else 0.0:.4f}"}
    number = html.Span(f"{bits:.1f}", className="number")
    return html.Div([html.Span(style=style, className="bar"), number], className="bits")


def layer_weights(found: Sequence[LayerWeights]) -> Component:
    """Figure 2 of the paper: tasks by layers, below one third hatched, above two thirds speckled."""
    layers = layers_of(found)
    head = [html.Th(text, scope="col") for text in ("model", "ELMo at", *map(layer_name, layers), "γ")]
    rows = []
    for one in found:
        cells = [_weight(one.weights.get(layer)) for layer in layers]
        gamma = html.Td(f"{one.gamma:.2f}", className="number")
        rows.append(html.Tr([html.Th(html.Bdi(one.task), scope="row"), html.Td(one.place), *cells, gamma]))
    table = html.Table([html.Thead(html.Tr(head)), html.Tbody(rows)], className="weights")
    return html.Div(table, className="wide")


def _weight(weight: Optional[float]) -> Component:
    if weight is None:
        return html.Td("–", className="number")
    style = {"--weight": f"{100 * weight:.0f}%"}
    return html.Td(html.Span(f"{weight:.2f}"), className=f"weight {band(weight)}", style=style)
