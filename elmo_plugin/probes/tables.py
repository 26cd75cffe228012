"""Tables 4, 5 and 6: the paper's rows beside ours, as Markdown."""

from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from elmo_plugin.benchmark.table import table as markdown_table

#: of one biLM: what `run_senses` and `run_tags` give, for it and for a random one
Results = Mapping[str, Mapping[str, Any]]


_DRAWN = "In brackets: 95 % of 1,000 texts drawn from the sentences."


class _Row(NamedTuple):
    name: str
    paper: Optional[str]
    ours: Callable[[Results], Optional[Sequence[float]]]


def _nothing(results: Results) -> None:
    return None


def _layer(part: str, number: int, of: str = "layers") -> Callable[[Results], Optional[Sequence[float]]]:
    def find(results: Results) -> Optional[Sequence[float]]:
        layers = results.get(part, {}).get(of, [])
        return layers[number] if number < len(layers) else None

    return find


def _layer_of_lemma(part: str, number: int, of: str) -> Callable[[Results], Optional[Sequence[float]]]:
    def find(results: Results) -> Optional[Sequence[float]]:
        layers = results.get(part, {}).get("of_lemma", {}).get(of, [])
        # Last of all come words that are drawn without looking at them.
        return layers[number] if number < len(layers) - (number >= 0) else None

    return find


def _value(part: str, name: str) -> Callable[[Results], Optional[Sequence[float]]]:
    return lambda results: results.get(part, {}).get(name)


_SENSES = [
    _Row("first sense", "65.9", _value("senses", "first")),
    _Row("Raganato et al. (2017)", "69.9", _nothing),
    _Row("Iacobacci et al. (2016)", "70.1", _nothing),
    _Row("CoVe, first layer", "59.4", _nothing),
    _Row("CoVe, second layer", "64.7", _nothing),
    _Row("static vectors (layer 0)", None, _layer("senses", 0)),
    _Row("random biLM, first layer", None, _layer("random_senses", 1)),
    _Row("random biLM, second layer", None, _layer("random_senses", 2)),
    _Row("biLM, first layer", "67.4", _layer("senses", 1)),
    _Row("biLM, second layer", "69.0", _layer("senses", 2)),
    _Row("second layer over first", "+1.6", _value("senses", "second_over_first")),
]
_TAGS = [
    _Row("most frequent tag of the word", None, _value("tags", "most_frequent")),
    _Row("Collobert et al. (2011)", "97.3", _nothing),
    _Row("Ma and Hovy (2016)", "97.6", _nothing),
    _Row("Ling et al. (2015)", "97.8", _nothing),
    _Row("CoVe, first layer", "93.3", _nothing),
    _Row("CoVe, second layer", "92.8", _nothing),
    _Row("static vectors (layer 0)", None, _layer("tags", 0)),
    _Row("random biLM, first layer", None, _layer("random_tags", 1)),
    _Row("random biLM, second layer", None, _layer("random_tags", 2)),
    _Row("biLM, first layer", "97.3", _layer("tags", 1)),
    _Row("biLM, second layer", "96.8", _layer("tags", 2)),
    _Row("second layer over first", "-0.5", _value("tags", "second_over_first")),
]
_LAYERS = (
    ("static vectors (layer 0)", "senses", 0),
    ("random biLM, first layer", "random_senses", 1),
    ("random biLM, second layer", "random_senses", 2),
    ("biLM, first layer", "senses", 1),
    ("biLM, second layer", "senses", 2),
)
_ANY = ("any words", "senses", -1)


def _shares(
    layers: Sequence[Tuple[str, str, int]], find: Callable[..., Callable[[Results], Optional[Sequence[float]]]]
) -> List[_Row]:
    return [
        _Row(f"{what}: {where}", None, find(part, number, of))
        for what, of in (("same sense", "same_sense"), ("same part of speech", "same_tag"))
        for where, part, number in layers
    ]


_SHARES = _shares(_LAYERS, _layer)
_LEMMA_SHARES = _shares((_ANY, *_LAYERS), _layer_of_lemma)


def table(number: int, bilms: Mapping[str, Results]) -> str:
    """
    Set a table.

    # Parameters

    number : 4, 5 or 6.
    bilms : names to results: under "senses" and "tags" those of the biLM, under "random_senses" and "random_tags" those
        of a random biLM of its shape; what is missing stays empty.
    """
    title, rows = {
        4: ("Share of the 10 nearest tokens, in percent", _SHARES),
        5: ("Word senses, F1", _SENSES),
        6: ("Parts of speech, accuracy", _TAGS),
    }[number]
    return f"{_set(title, rows, bilms)}\n\n{_below(number, bilms)}\n"


def lemma_table(bilms: Mapping[str, Results]) -> str:
    """The shares of table 4 among words of the same lemma; nothing where there are none."""
    found = next((results["senses"] for results in bilms.values() if "senses" in results), None)
    if found is None:
        return ""
    text = _set("Share of the 10 nearest tokens of the same lemma, in percent", _LEMMA_SHARES, bilms)
    return (
        f"{text}\n\n{found['frequent_words']:,} ambiguous words of the test text, of lemmas with more than 10 words in "
        f"the training text, each among those; any words: what they would be if drawn. {_DRAWN}\n"
    )


def _set(title: str, rows: Sequence[_Row], bilms: Mapping[str, Results]) -> str:
    with_paper = any(row.paper is not None for row in rows)
    head = [title, *(["paper"] if with_paper else []), *bilms]
    lines = [
        [row.name, *([row.paper or ""] if with_paper else []), *(_cell(row, results) for results in bilms.values())]
        for row in rows
    ]
    return markdown_table(head, lines)


def _cell(row: _Row, results: Results) -> str:
    found = row.ours(results)
    if found is None:
        return ""
    sign = "+" if row.name.endswith("over first") else ""
    return f"{found[0]:{sign}.1f} [{found[1]:{sign}.1f}, {found[2]:{sign}.1f}]"


def _below(number: int, bilms: Mapping[str, Results]) -> str:
    """What the numbers are of."""
    part = "tags" if number == 6 else "senses"
    found = next((results[part] for results in bilms.values() if part in results), None)
    if found is None:
        return "Nothing was run yet."
    if number == 6:
        return f"{found['test_words']:,} words of {found['test_sentences']:,} test sentences. {_DRAWN}"
    if number == 4:
        words, among = found["ambiguous_words"], found["train_words"]
        return f"{words:,} ambiguous words of the test text, each among {among:,} words with senses. {_DRAWN}"
    return (
        f"{found['test_words']:,} words with senses in the test text, {found['train_words']:,} in the training text; "
        f"{found['unseen_words']:,} of lemmas that are not in the training text, {found['unanswered_words']:,} without "
        f"an answer. First sense by {found['first_sense']}. {_DRAWN}"
    )


def sets_table(bilms: Mapping[str, Results]) -> str:
    """F1 of each test text by itself, where there are several; else nothing."""
    lines: List[List[str]] = []
    for name, results in bilms.items():
        sets = results.get("senses", {}).get("sets", {})
        if len(sets) > 1:
            lines += [[name, of, *(f"{value:.1f}" for value in values)] for of, values in sets.items()]
    if not lines:
        return ""
    head = ["biLM", "test text", "first sense", *(f"layer {number}" for number in range(len(lines[0]) - 3))]
    return markdown_table(head, lines, texts=2) + "\n"
