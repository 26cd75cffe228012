"""
Results as trees of HTML, which the page draws: Dash takes a millisecond or two for each of its components.

All text goes in as text: nothing that a visitor typed is read as markup.
"""

import math
from typing import List, Optional, Sequence

from elmo_plugin.explorer._page.elements import Node, element
from elmo_plugin.explorer.figures import groups
from elmo_plugin.explorer.nearest import LayerNeighbors
from elmo_plugin.explorer.spread import Spread
from elmo_plugin.explorer.surprisal import Surprisal, WordSurprisal
from elmo_plugin.neighbors.query import TokenNeighbor, WordNeighbor
from elmo_plugin.neighbors.report import times
from elmo_plugin.reproduction.layer_sheet import LayerWeights, band, layer_name, layers_of

_CONTEXT = 5
#: occurrences below which principal components say little
_FEW = 5


def message(text: str, is_error: bool = False) -> Node:
    """A sentence in the place of a result."""
    return (
        element("p", text, class_="message error", role="alert") if is_error else element("p", text, class_="message")
    )


def neighbors(found: Sequence[LayerNeighbors], is_index: bool) -> Node:
    """A block for each layer."""
    return element("div", *(_layer(one, is_index) for one in found), class_="layers")


def _layer(found: LayerNeighbors, is_index: bool) -> Node:
    if found.layer == 0:
        title, rows = "nearest words, by the spelling alone", [_static(one) for one in found.words]
    else:
        title, rows = "nearest words in their sentences", [_token(one, is_index) for one in found.tokens]
    recall = "" if found.recall is None else f", approximate search (finds {100 * found.recall:.0f} %)"
    nothing = message("Nothing to compare with: add another sentence.")
    content = element("table", element("tbody", *rows)) if rows else nothing
    heading = element("h3", layer_name(found.layer), element("span", f": {title}{recall}", class_="quiet"))
    return element("div", heading, content, class_=f"layer layer-{min(found.layer, 1)}")


def _static(one: WordNeighbor) -> Node:
    word = element("td", element("bdi", one.word, class_="word"))
    return element("tr", _similarity(one.similarity), word, _quiet(times(one.occurrences)))


def _token(one: TokenNeighbor, is_index: bool) -> Node:
    start, stop = max(0, one.position - _CONTEXT), one.position + 1 + _CONTEXT
    before = ("… " if start else "") + " ".join(one.tokens[start : one.position])
    after = " ".join(one.tokens[one.position + 1 : stop]) + (" …" if stop < len(one.tokens) else "")
    line = f"{'line' if is_index else 'sentence'} {one.line + 1}"
    context = element("bdi", before, " ", element("mark", one.tokens[one.position]), " ", after)
    return element("tr", _similarity(one.similarity), element("td", context), _quiet(line))


def _similarity(value: float) -> Node:
    return element("td", f"{value:.2f}", class_="number")


def _quiet(text: str) -> Node:
    return element("td", text, class_="quiet")


def about_spread(found: Spread, form: str, layer: int, most: int) -> Node:
    """What is shown, and what not."""
    here = sum(one.on_page for one in found.occurrences)
    text: List[Node] = [element("bdi", form, class_="word"), f": {here} on this page"]
    outside = len(found.occurrences) - here
    if outside:
        text.append(f", {outside} of {found.total:,} elsewhere" if found.total > most else f", {outside} elsewhere")
    if layer == 0:
        text.append(". Layer 0 knows nothing of the sentence: all occurrences of one form are one point")
    elif len(found.occurrences) < _FEW:
        text.append(". So few points lie in a plane by themselves: their distances say little")
    return element("p", *text, ".", class_="about")


def legend(found: Spread) -> Node:
    """What the colours and shapes of the plot are."""
    items = []
    for group in groups(found):
        sign = element("span", f"{group.sign} ", style=f"color: {group.colour}", aria_hidden="true")
        items.append(element("li", sign, group.name))
    return element("ul", *items, class_="legend")


def surprisals(found: Surprisal) -> Node:
    """A line for each word, with a bar from each side."""
    values = [value for one in found.words for value in (one.forward, one.backward) if not math.isnan(value)]
    most = max(values)
    head = element(
        "tr",
        element("th", "forward, given the left", scope="col", class_="left"),
        element("th", "word", scope="col"),
        element("th", "backward, given the right", scope="col"),
    )
    rows = [_surprisal(one, most, is_first=not place) for place, one in enumerate(found.words)]
    unknown = any(one.is_unknown for one in found.words)
    note = " * not in the vocabulary: the bits of any unknown word." if unknown else ""
    table = element("table", element("thead", head), element("tbody", *rows), class_="surprisal")
    total = f"Perplexity {found.perplexity:,.1f}, over both directions and with the boundaries.{note}"
    return element("div", table, element("p", total))


def _surprisal(one: WordSurprisal, most: float, is_first: bool) -> Node:
    name = [element("bdi", one.word), "*" if one.is_unknown else ""]
    if not one.word:
        name = [element("span", "begin" if is_first else "end", class_="quiet")]
    return element(
        "tr",
        element("td", *_bar(one.forward, most), class_="left"),
        element("th", *name, scope="row"),
        element("td", *_bar(one.backward, most)),
    )


def _bar(bits: float, most: float) -> List[Node]:
    if math.isnan(bits):
        return []
    bar = element("span", style=f"--share: {bits / most if most > 0 else 0.0:.4f}", class_="bar")
    return [element("div", bar, element("span", f"{bits:.1f}", class_="number"), class_="bits")]


def layer_weights(found: Sequence[LayerWeights]) -> Node:
    """Figure 2 of the paper: tasks by layers, below one third hatched, above two thirds speckled."""
    layers = layers_of(found)
    head = [element("th", text, scope="col") for text in ("model", "ELMo at", *map(layer_name, layers), "γ")]
    rows = []
    for one in found:
        cells = [_weight(one.weights.get(layer)) for layer in layers]
        task = element("th", element("bdi", one.task), scope="row")
        gamma = element("td", f"{one.gamma:.2f}", class_="number")
        rows.append(element("tr", task, element("td", one.place), *cells, gamma))
    head_of_table, body = element("thead", element("tr", *head)), element("tbody", *rows)
    return element("div", element("table", head_of_table, body, class_="weights"), class_="wide")


def _weight(weight: Optional[float]) -> Node:
    if weight is None:
        return element("td", "–", class_="number")
    number = element("span", f"{weight:.2f}")
    return element("td", number, class_=f"weight {band(weight)}", style=f"--weight: {100 * weight:.0f}%")
