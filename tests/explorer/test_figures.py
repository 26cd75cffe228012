"""Plots hold what they are given, and nothing that was typed is markup in them."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.explorer.as_text import heat_map_text, spread_text
from elmo_plugin.explorer.figures import groups, label, scatter
from elmo_plugin.explorer.occurrences import Occurrence
from elmo_plugin.explorer.spread import Spread

WORD = st.text(min_size=1).filter(lambda text: not text.isspace())


@given(WORD)
def test_labels_are_no_markup(word):
    shown = label(word)

    assert (
        "<" not in shown
        and ">" not in shown
        and "&" not in shown.replace("&lt;", "").replace("&gt;", "").replace("&amp;", "")
    )
    assert len(word) > 24 or shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == word


def test_similarities_are_a_table():
    found = np.array([[1.0, -0.25]], dtype=np.float32)

    assert heat_map_text(["a"], ["b", "c"], found) == "\tb\tc\na\t1.000\t-0.250"


def occurrence(sense="", number=0, tokens=("a", "<b>play</b>", "&")):
    return Occurrence(tokens, 1, 2, "line 3", sense, number)


def test_senses_beyond_the_styles_are_others():
    senses = [f"play%1:04:{number:02}::" for number in range(8)]
    every = [*(occurrence(sense) for sense in senses), occurrence(number=2)]
    found = Spread(every, np.arange(18.0).reshape(9, 2), (0.5, 0.25), [(sense, 1) for sense in senses], 8)

    sorted_out = groups(found)
    figure = json.loads(json.dumps(scatter(found)))

    assert [len(group.places) for group in sorted_out] == [1] * 6 + [2, 1]
    assert sorted_out[0].name == "noun.act play%1:04:00:: (1)" and sorted_out[6].name == "other senses (2)"
    assert len({(group.colour, group.symbol) for group in sorted_out}) == 8
    assert sorted(x for trace in figure["data"] for x in trace["x"]) == list(range(0, 18, 2))
    assert figure["data"][-1]["text"] == ["2"]
    assert "25 % of the variance" in figure["layout"]["yaxis"]["title"]["text"]
    (hover,) = figure["data"][-1]["customdata"]
    assert hover == "a <b>&lt;b&gt;play&lt;/b&gt;</b> &amp;<br>line 3"
    assert len(spread_text(found).splitlines()) == 10


def test_names_in_a_file_of_senses_are_no_markup():
    one = Occurrence(("play",), 0, 1, "<a href='x'>d0</a>", "<b>%1:04:00::")

    (trace,) = scatter(Spread([one], np.zeros((1, 2)), (0.0, 0.0), [("<b>%1:04:00::", 1)], 1))["data"]

    assert trace["customdata"] == ["<b>play</b><br>&lt;a href='x'&gt;d0&lt;/a&gt;<br>noun.act &lt;b&gt;%1:04:00::"]


def test_long_contexts_are_cut():
    tokens = [str(number) for number in range(40)]
    one = Occurrence(tokens, 20, 21, "line 1")
    found = Spread([one], np.zeros((1, 2)), (0.0, 0.0), [], 1)

    (trace,) = scatter(found)["data"]

    assert trace["customdata"][0].startswith("… 12 13") and "28 …<br>" in trace["customdata"][0]
