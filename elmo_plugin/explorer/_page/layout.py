"""What stands where on the page."""

from typing import Any, List, Sequence

from dash import dcc, html

from elmo_plugin.explorer.explorer import Explorer
from elmo_plugin.explorer.limits import LIMITS
from elmo_plugin.reproduction.layer_sheet import layer_name

#: what the page starts with: two senses of one word, two of another, and a place for both
EXAMPLE = """They saw a new play at the theatre in London.
The children play in the garden after school.
He made a brilliant play in the last minute of the game.
The band will play two songs at the party tonight.
She sat on the bank of the river and watched the boats.
The bank raised its interest rates for the third time this year."""
#: sentence and word that the page starts with: "play"
START = (0, 4)

VIEWS = ("nearest", "similarity", "spread", "surprisal", "layers")


def layout(explorer: Explorer) -> Any:
    """The whole page, empty."""
    last = explorer.num_layers - 1
    return html.Div(
        [
            dcc.Store(id="typed"),
            dcc.Store(id="sentences", data=[]),
            dcc.Store(id="archives", data=[]),
            dcc.Store(id="similarity-data"),
            *(dcc.Store(id=f"{name}-answer") for name in VIEWS),
            _header(explorer),
            html.Div([html.Div(_input(), className="input"), html.Main(_views(explorer, last))], className="columns"),
        ],
        id="page",
        **{"data-characters": str(LIMITS.characters), "data-word": str(START[1])},
    )


def _header(explorer: Explorer) -> Any:
    about = f"{explorer.name}: {explorer.num_layers} layers of {explorer.embedder.bilm.output_dim} numbers"
    return html.Header(
        [
            html.H1("ELMo explorer"),
            html.P([html.Bdi(about), f", state {explorer.embedder.bilm.state}"], className="quiet"),
            _choice(
                "theme", "Colours", [("auto", "auto"), ("light", "light"), ("dark", "dark")], "auto", persistence=True
            ),
        ]
    )


def _input() -> List[Any]:
    return [
        html.Label("Sentences, one a line", htmlFor="text"),
        dcc.Textarea(id="text", value=EXAMPLE, rows=7, spellCheck=False, persistence=False),
        _choice("split", "Words", [("auto", "split punctuation off"), ("spaces", "split at spaces alone")], "auto"),
        html.P(id="status", role="status", className="quiet", **{"aria-live": "polite"}),
        _choice("sentence", "Sentence", [], None, is_list=True),
        _choice("word", "Word", [], None),
        html.Nav([html.A(title, href=f"#{name}") for name, title in zip(VIEWS, _TITLES)], **{"aria-label": "Views"}),
    ]


_TITLES = ("Neighbours", "Similarity", "Occurrences", "Surprisal", "Layer weights")


def _views(explorer: Explorer, last: int) -> List[Any]:
    layers = [(number, layer_name(number)) for number in range(explorer.num_layers)]
    return [
        _view("nearest", "Neighbours by layer", _where_neighbors_are(explorer)),
        _view(
            "similarity",
            "Similarity of two sentences, word by word",
            "The cosine of each word of the chosen sentence (down) and each word of another (across).",
            _choice("other", "Other sentence", [], None, is_list=True),
            _choice("similarity-layer", "Layer", layers, last),
            below=[html.Div(id="heat-map", className="wide empty", tabIndex="0"), _numbers("similarity")],
        ),
        _view(
            "spread",
            "Occurrences of the word",
            _where_occurrences_are(explorer),
            _choice("spread-layer", "Layer", layers, last),
            below=[
                dcc.Graph(id="spread-plot", config={"displayModeBar": False, "responsive": True}),
                _numbers("spread"),
            ],
        ),
        _view(
            "surprisal",
            "Surprisal",
            "How unexpected each word is, in bits: the negative binary logarithm of its probability given the words "
            "before it (forward model), and given those behind it (backward model).",
        ),
        _view(
            "layers",
            "Layer weights of trained models",
            "Figure 2 of the paper for your own task: the softmax-normalised weights of the layers in a model that "
            "AllenNLP trained, hatched below one third, speckled above two thirds; γ is the factor of the whole. "
            "The file is read here, no code in it is run, and nothing of it is kept.",
            html.Div(id="archive-drop", className="drop", **{"data-limit": str(LIMITS.upload)}),
            html.P(id="archive-message", className="message", role="status", **{"aria-live": "polite"}),
        ),
    ]


def _where_neighbors_are(explorer: Explorer) -> str:
    if explorer.index is None:
        return (
            "The nearest by cosine among the other sentences of this page. For those of a text of your own, build an "
            "index with allennlp elmo-neighbors build and start with --index."
        )
    tokens = explorer.index.vectors.tokens
    return f"The nearest by cosine among the {tokens:,} words of the indexed text."


def _where_occurrences_are(explorer: Explorer) -> str:
    start = "The vectors of the chosen word in all its sentences, on their two principal components. "
    if explorer.senses is not None:
        return start + "Colours are WordNet senses in the text given by --senses; inflected forms go with their lemma."
    if explorer.index is not None:
        return start + "For colours by sense start with --senses and a file of text whose words have senses."
    return start + (
        "The page alone has few of them: start with --senses and a file of text whose words have senses for more, "
        "coloured by sense, or with --index for those of an indexed text."
    )


def _view(name: str, title: str, about: str, *controls: Any, below: Sequence[Any] = ()) -> Any:
    return html.Section(
        [
            html.H2(title, id=f"{name}-title"),
            html.P(about, className="about"),
            html.Div(list(controls), className="controls"),
            html.Div(id=f"{name}-view", className="view"),
            *below,
        ],
        id=name,
        **{"aria-labelledby": f"{name}-title"},
    )


def _numbers(name: str) -> Any:
    """The numbers of a picture: for a screen reader, and to be pasted into a table."""
    return html.Details([html.Summary("The numbers as text"), html.Pre(id=f"{name}-numbers", tabIndex="0")])


def _choice(name: str, title: str, options: Any, value: Any, is_list: bool = False, persistence: bool = False) -> Any:
    """Radio buttons, which the keyboard reaches by Tab and changes by the arrows."""
    radio = dcc.RadioItems(
        id=name,
        options=[{"value": option, "label": text} for option, text in options],
        value=value,
        className="choice list" if is_list else "choice",
        persistence=persistence,
    )
    return html.Fieldset([html.Legend(title), radio], className=f"field field-{name}")
