"""What is printed of an index that anybody may have filled."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("faiss")

from elmo_plugin.neighbors.query import TokenNeighbor, WordNeighbor
from elmo_plugin.neighbors.report import Found, LayerFound, as_markdown, as_text, escaped, visible

TOKENS = [f"w{place}" for place in range(30)]


def found(word="play", **settings):
    tokens = [*TOKENS[:12], word, *TOKENS[13:]]
    layers = [
        LayerFound(0, True, words=[WordNeighbor(0.9, word, 1), WordNeighbor(0.25, "b", 2000)]),
        LayerFound(1, tokens=[TokenNeighbor(0.75, 3, tokens, 12)], **{"is_exact": True, **settings}),
    ]
    return Found(["a", word, "."], 1, "noun.act play%1:04:04::", layers)


def test_text_has_a_block_for_each_layer():
    blocks = as_text(found(senses=["play%1:10:01::"])).split("\n\n")

    assert blocks[0].splitlines() == [
        "layer 0, the static vector of play: nearest words",
        "  0.900  play  (once)",
        "  0.250  b  (2,000 times)",
    ]
    assert blocks[1].splitlines()[0] == "layer 1: nearest tokens"
    assert blocks[1].splitlines()[1].startswith("  0.750  line 4: w0 w1") and "w11 *play* w13" in blocks[1]
    assert blocks[1].endswith("w29  [play%1:10:01::]")


@pytest.mark.parametrize("recall,expected", [(None, "recall not measured"), (0.955, "recall 95.5 %")])
def test_approximate_search_says_so(recall, expected):
    assert f"layer 1: nearest tokens, approximate ({expected})" in as_text(found(is_exact=False, recall=recall))


def test_table_has_the_words_around():
    lines = as_markdown([found(senses=[None]), found()]).splitlines()

    assert len(lines) == 2 + 2 * 3
    assert lines[2] == "| | | **a <mark>play</mark> .** | noun.act play%1:04:04:: |"
    assert lines[3] == "| 0 | 0.90 – 0.25 | play, b | |"
    assert lines[4].startswith("| 1 | 0.75 | … w3 w4") and "<mark>play</mark> w13" in lines[4]
    assert lines[4].endswith("w21 … |  |")


def test_json_has_senses_where_they_were_asked_for():
    assert "sense" not in found().layers[1].to_json()["tokens"][0]
    (near,) = found(senses=[None], recall=0.5).layers[1].to_json()["tokens"]
    assert (near["sense"], near["line"], near["position"]) == (None, 3, 12)
    assert found().layers[0].to_json()["words"][1] == {"similarity": 0.25, "word": "b", "occurrences": 2000}


HOSTILE = [
    "\x1b[2J\x1b]0;title\x07",
    "\u202eyalp",
    "a\x00b",
    "a|b",
    "<script>",
    "`x`",
    "*x*",
    "[a](b)",
    "\x9b31m",
    "$x$",
]


@pytest.mark.parametrize("word", HOSTILE, ids=ascii)
def test_hostile_words_neither_move_the_cursor_nor_make_markup(word):
    one = found(word, senses=[word])
    for text in (as_text(one), as_markdown([one])):
        assert all(character.isprintable() or character == "\n" for character in text)
    cells = [re.split(r"(?<!\\)\|", line) for line in as_markdown([one]).splitlines()]
    assert {len(row) for row in cells} == {6}
    assert "<script>" not in as_markdown([one]) and "](b" not in as_markdown([one]).replace(r"\]", "")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_harmless_stays(text):
    assert escaped(text).count("\n") == 0
    if text.isprintable():
        assert visible(text) == text
    assert re.sub(r"\\([\\`*_{}\[\]<>#|~&$])", r"\1", escaped(visible(text))) == visible(text) or "\\" in text


@pytest.mark.parametrize("word", ["سلام", "é", "👩‍👩‍👧", "می‌خواهم"])
def test_other_scripts_are_shown_as_they_are(word):
    assert visible(word) == word
