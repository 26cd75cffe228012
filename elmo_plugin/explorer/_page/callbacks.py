"""What changes when somebody types or chooses. The server keeps nothing of a visitor: each question brings its text."""

import functools
from typing import Any, Callable, Dict, List, Sequence, Tuple

from dash import ClientsideFunction, Dash, Input, Output, State

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.explorer import archives, figures
from elmo_plugin.explorer._page import parts
from elmo_plugin.explorer._page.elements import element
from elmo_plugin.explorer._page.layout import START, VIEWS
from elmo_plugin.explorer.as_text import heat_map_text, spread_text
from elmo_plugin.explorer.explorer import Explorer
from elmo_plugin.explorer.nearest import nearest
from elmo_plugin.explorer.similarity import similarities
from elmo_plugin.explorer.spread import MOST, spread
from elmo_plugin.explorer.surprisal import surprisal
from elmo_plugin.explorer.text import PageError, check_length, check_place, check_sentences, read_text

_NOTHING = "Type or paste a sentence to see this."
# What shows nothing, by the property of a component; None for all others. A plot cannot be without a figure.
_EMPTY: Dict[str, Any] = {"figure": {}, "style": {"display": "none"}}
_ARCHIVES_FIRST = "No archive yet."
_TEXT = (Input("sentences", "data"), Input("sentence", "value"))


def register(app: Dash, explorer: Explorer) -> None:
    """Add all callbacks to an application."""
    _in_the_browser(app)
    app.callback(
        Output("sentences", "data"),
        Output("sentence", "options"),
        Output("sentence", "value"),
        Output("other", "options"),
        Output("other", "value"),
        Output("status", "children"),
        Output("status", "className"),
        Input("typed", "data"),
        State("sentence", "value"),
        State("other", "value"),
        State("other", "options"),
        prevent_initial_call=True,
    )(_read)

    def view(*outputs: Output, inputs: Sequence[Input] = ()) -> Callable[[Callable[..., Any]], Any]:
        empty = [_EMPTY.get(output.component_property) for output in outputs[1:]]
        return lambda answer: app.callback(*outputs, *_TEXT, *inputs)(_answered(answer, empty))

    @view(Output("nearest-answer", "data"), inputs=[Input("word", "value")])
    def show_nearest(sentences: List[List[str]], sentence: int, word: int) -> Any:
        check_place(sentences, sentence, word)
        return parts.neighbors(nearest(explorer, sentences, sentence, word), explorer.index is not None)

    @view(
        Output("similarity-answer", "data"),
        Output("similarity-data", "data"),
        Output("similarity-numbers", "children"),
        inputs=[Input("other", "value"), Input("similarity-layer", "value")],
    )
    def show_similarity(sentences: List[List[str]], sentence: int, other: int, layer: int) -> Any:
        check_place(sentences, sentence, 0)
        check_place(sentences, other, 0)
        _check_layer(explorer, layer)
        first, second = sentences[sentence], sentences[other]
        found = similarities(explorer.embedder, first, second, layer)
        data = {"first": first, "second": second, "cosines": found.round(3).tolist()}
        return None, data, heat_map_text(first, second, found)

    @view(
        Output("spread-answer", "data"),
        Output("spread-plot", "figure"),
        Output("spread-plot", "style"),
        Output("spread-numbers", "children"),
        inputs=[Input("word", "value"), Input("spread-layer", "value")],
    )
    def show_spread(sentences: List[List[str]], sentence: int, word: int, layer: int) -> Any:
        check_place(sentences, sentence, word)
        _check_layer(explorer, layer)
        found = spread(explorer, sentences, sentence, word, layer)
        about = parts.about_spread(found, sentences[sentence][word], layer, MOST)
        return element("div", about, parts.legend(found)), figures.scatter(found), {}, spread_text(found)

    @view(Output("surprisal-answer", "data"))
    def show_surprisal(sentences: List[List[str]], sentence: int) -> Any:
        check_place(sentences, sentence, 0)
        if explorer.missing_softmax:
            return parts.message(explorer.missing_softmax)
        return parts.surprisals(surprisal(explorer, sentences[sentence]))

    @app.callback(Output("layers-answer", "data"), Input("archives", "data"))
    def show_layers(data: Any) -> Any:
        try:
            found = archives.from_json(data)
        except PageError as error:
            return parts.message(str(error), is_error=True)
        return parts.layer_weights(found) if found else parts.message(_ARCHIVES_FIRST)


def _in_the_browser(app: Dash) -> None:
    """What needs no answer from the server; the functions are in assets/explorer.js."""
    app.clientside_callback(
        ClientsideFunction("explorer", "typed"),
        Output("typed", "data"),
        Input("text", "value"),
        Input("split", "value"),
    )
    app.clientside_callback(
        ClientsideFunction("explorer", "words"),
        Output("word", "options"),
        Output("word", "value"),
        *_TEXT,
        State("word", "value"),
    )
    for name in VIEWS:
        app.clientside_callback(
            ClientsideFunction("explorer", "draw"), Output(f"{name}-view", "className"), Input(f"{name}-answer", "data")
        )
    app.clientside_callback(
        ClientsideFunction("explorer", "heat"), Output("heat-map", "className"), Input("similarity-data", "data")
    )
    app.clientside_callback(
        ClientsideFunction("explorer", "theme"), Output("page", "className"), Input("theme", "value")
    )


def _read(typed: Any, sentence: Any, other: Any, others: Any) -> Tuple[Any, ...]:
    """Split what was typed, and keep what was chosen where that is still there; of one sentence nobody chose it."""
    try:
        sentences = _sentences_of(typed)
    except PageError as error:
        return [], [], None, [], None, str(error), "message error"
    options: List[Dict[str, Any]] = [
        {"value": number, "label": f"{number + 1}. {' '.join(tokens)}"} for number, tokens in enumerate(sentences)
    ]
    chosen = _kept(sentence, len(sentences), START[0])
    was_chosen = isinstance(others, list) and len(others) > 1
    compared = None if chosen is None else _kept(other if was_chosen else None, len(sentences), chosen + 1)
    words = sum(map(len, sentences))
    status = f"{_count(len(sentences), 'sentence')}, {_count(words, 'word')}." if sentences else "No words yet."
    return sentences, options, chosen, options, compared, status, "quiet"


def _sentences_of(typed: Any) -> List[List[str]]:
    if not isinstance(typed, dict):
        raise PageError("The browser sent no text. Load the page again.")
    length, text = typed.get("length"), typed.get("text")
    if type(length) is int:  # the browser did not even send what is too long
        check_length(length)
    if not isinstance(text, str):
        raise PageError("The browser sent no text. Load the page again.")
    return read_text(text, is_split=typed.get("split") == "spaces")


def _kept(chosen: Any, number: int, default: int) -> Any:
    """What was chosen, or else the default, or the last one; None where there is nothing."""
    if not number:
        return None
    return chosen if type(chosen) is int and 0 <= chosen < number else min(default, number - 1)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _check_layer(explorer: Explorer, layer: Any) -> None:
    if type(layer) is not int or not 0 <= layer < explorer.num_layers:
        raise PageError(f"There is no layer {layer!r}, only 0 to {explorer.num_layers - 1}.")


def _answered(answer: Callable[..., Any], empty: Sequence[Any]) -> Callable[..., Any]:
    """
    Check the text that came, and put what is wrong with a question in the place of its answer.

    # Parameters

    answer : to a text and what was chosen.
    empty : what the outputs behind the one that shows messages then are.
    """

    @functools.wraps(answer)
    def checked(data: Any, *chosen: Any) -> Any:
        try:
            sentences = check_sentences(data)
            if sentences:
                return answer(sentences, *chosen)
            said = parts.message(_NOTHING)
        except EngineError as error:
            said = parts.message(str(error), is_error=True)
        except OSError as error:
            said = parts.message(f"A file of the index cannot be read any more: {error}.", is_error=True)
        return (said, *empty) if empty else said

    return checked
