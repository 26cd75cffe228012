"""Tests of the word splitting of the demonstration."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.corpus.raw_words import plain, words_of

CASES = [
    ("They don't.", "They do n't ."),
    ("It's a film you'll love; I've, we'd, they're", "It 's a film you 'll love ; I 've , we 'd , they 're"),
    ("Who cannot? It can't.", "Who can not ? It ca n't ."),
    ("WON'T", "WO N'T"),
    ("the actors' best", "the actors ' best"),
    ("‘Simple’ and “smart”, ``plain'' too", '\' Simple \' and " smart " , " plain " too'),
    ("a film—well – two -- three", "a film -- well -- two -- three"),
    ("Wait… and wait... . . . end", "Wait ... and wait ... ... end"),
    ("A coming-of-age story by O'Brien.", "A coming-of-age story by O'Brien ."),
    ("It ends. Then Mr. J. R. Smith of the U.S. came.", "It ends . Then Mr. J. R. Smith of the U.S. came ."),
    ("In the '70s it cost $1,000.50, or 3.5 stars.", "In the '70s it cost $ 1,000.50 , or 3.5 stars ."),
    ("(Fun!) [yes] 9/10 and/or AT&amp;T", "( Fun ! ) [ yes ] 9/10 and/or AT&T"),
    ("clichés in São Paulo", "clichés in São Paulo"),
    ("cliche\u0301s in Sa\u0303o Paulo", "clich\u00e9s in S\u00e3o Paulo"),
    ("  \n ", ""),
]


@pytest.mark.parametrize("text, expected", CASES, ids=[text for text, _ in CASES])
def test_splits_as_the_training_text(text: str, expected: str) -> None:
    """Each case is one habit of the biLM's training text."""
    assert words_of(text) == expected.split()


@given(st.text())
def test_loses_no_character_but_white_space(text: str) -> None:
    """The words, put together again, are the text in its plain form."""
    words = words_of(text)

    assert "".join(words) == re.sub(r"\s", "", plain(text))
    assert all(words) and not any(re.search(r"\s", word) for word in words)


@pytest.mark.parametrize(
    "gap", [" ", "\u00a0", "\t", ". ", "\u2013 ", "a\u2014", "1,", "n't", "&#", "\u0301\u0316"], ids=ascii
)
def test_time_grows_with_the_text_and_not_with_its_square(gap: str) -> None:
    """Text 30 times as long takes far less than 900 times as long."""

    def seconds(times: int) -> float:
        text = gap * times
        rounds = []
        for _ in range(3):
            begin = time.process_time()
            words_of(text)
            rounds.append(time.process_time() - begin)
        return min(rounds)

    short, long = seconds(500), seconds(15_000)

    assert long < 200 * max(short, 1e-4)
