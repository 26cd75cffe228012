"""What a query has found, as text and as Markdown. Whatever is in the index, it moves no cursor and makes no markup."""

import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from elmo_plugin.neighbors.query import TokenNeighbor, WordNeighbor

_CONTEXT = 9
# Control characters move the cursor, and characters of direction turn around what stands behind them.
_UNSAFE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&$])")


class LayerFound(NamedTuple):
    """
    What is near a token in one layer.

    # Parameters

    layer : its number.
    is_exact : whether all tokens were looked at.
    words : the nearest words, in layer 0.
    tokens : the nearest tokens, in the other layers.
    senses : of these tokens, None for one whose sense is not known; None where no senses were asked for.
    recall : of approximate search, where the build has measured it.
    """

    layer: int
    is_exact: bool
    words: List[WordNeighbor] = []
    tokens: List[TokenNeighbor] = []
    senses: Optional[List[Optional[str]]] = None
    recall: Optional[float] = None

    def to_json(self) -> Dict[str, Any]:
        """As `--json` prints it."""
        content: Dict[str, Any] = {"layer": self.layer, "is_exact": self.is_exact}
        if self.layer == 0:
            return {**content, "words": [word._asdict() for word in self.words]}
        senses = [{}] * len(self.tokens) if self.senses is None else [{"sense": sense} for sense in self.senses]
        content["tokens"] = [{**token._asdict(), **sense} for token, sense in zip(self.tokens, senses)]
        if self.recall is not None:
            content["recall"] = self.recall
        return content


class Found(NamedTuple):
    """
    What is near a token.

    # Parameters

    tokens : of its sentence.
    position : of the token.
    sense : its own, where it is known.
    layers : in their order.
    """

    tokens: List[str]
    position: int
    sense: Optional[str]
    layers: List[LayerFound]


def as_text(found: Found) -> str:
    """Write a block for each layer, with an empty line between two."""
    return "\n\n".join("\n".join(_block(one, found.tokens[found.position])) for one in found.layers)


def _block(found: LayerFound, word: str) -> List[str]:
    if found.layer == 0:
        rows = [f"  {one.similarity:.3f}  {visible(one.word)}  ({times(one.occurrences)})" for one in found.words]
        return [f"layer 0, the static vector of {visible(word)}: nearest words", *rows]
    known = "recall not measured" if found.recall is None else f"recall {100 * found.recall:.1f} %"
    lines = [f"layer {found.layer}: nearest tokens" + ("" if found.is_exact else f", approximate ({known})")]
    senses = [None] * len(found.tokens) if found.senses is None else found.senses
    for near, sense in zip(found.tokens, senses):
        tokens = list(near.tokens)
        tokens[near.position] = f"*{tokens[near.position]}*"
        of = f"  [{visible(sense)}]" if sense else ""
        lines.append(f"  {near.similarity:.3f}  line {near.line + 1}: {visible(' '.join(tokens))}{of}")
    return lines


def times(occurrences: int) -> str:
    """How often a word occurs, in words."""
    return "once" if occurrences == 1 else f"{occurrences:,} times"


def as_markdown(every: Sequence[Found]) -> str:
    """Write a table: each question in bold, below it its neighbours, of a sentence the words around the token."""
    lines = ["| layer | cosine | nearest | sense |", "| --- | ---: | --- | --- |"]
    for found in every:
        lines.append(f"| | | **{_in_context(found.tokens, found.position)}** | {_sense(found.sense)} |")
        for one in found.layers:
            if one.layer == 0:
                words = ", ".join(escaped(word.word) for word in one.words)
                lines.append(f"| 0 | {_range([word.similarity for word in one.words])} | {words} | |")
            senses = [None] * len(one.tokens) if one.senses is None else one.senses
            for near, sense in zip(one.tokens, senses):
                context = _in_context(near.tokens, near.position)
                lines.append(f"| {one.layer} | {near.similarity:.2f} | {context} | {_sense(sense)} |")
    return "\n".join(lines)


def _in_context(tokens: Sequence[str], position: int) -> str:
    start, stop = max(0, position - _CONTEXT), position + 1 + _CONTEXT
    words = [escaped(token) for token in tokens[start:stop]]
    words[position - start] = f"<mark>{words[position - start]}</mark>"
    return " ".join([*["…"] * (start > 0), *words, *["…"] * (stop < len(tokens))])


def _range(values: Sequence[float]) -> str:
    return f"{values[0]:.2f} – {values[-1]:.2f}" if values else ""


def _sense(name: Optional[str]) -> str:
    return "" if name is None else escaped(name)


def visible(text: str) -> str:
    """Text whose control characters and characters of direction are written out, as Python writes them."""
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def escaped(text: str) -> str:
    """As `visible`, without markup of Markdown."""
    return _MARKDOWN.sub(r"\\\1", visible(text))
