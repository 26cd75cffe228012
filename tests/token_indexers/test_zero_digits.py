"""Digits are zeros, and all else is as with AllenNLP's indexer."""

from collections import Counter

import pytest

pytest.importorskip("allennlp")

from allennlp.common import Params  # noqa: E402
from allennlp.data import Token, TokenIndexer, Vocabulary  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402


def build(kind="zero_digits", **parameters):
    return TokenIndexer.from_params(Params({"type": kind, **parameters}))


def counted(indexer, words):
    counts = {"tokens": Counter()}
    for word in words:
        indexer.count_vocab_items(Token(word), counts)
    return counts["tokens"]


def test_numbers_of_one_form_are_one_word():
    words = ["1996-08-22", "1997-12-01", "U2", "EU"]
    indexer = build(lowercase_tokens=True)

    counts = counted(indexer, words)

    assert counts == {"0000-00-00": 2, "u0": 1, "eu": 1}
    vocabulary = Vocabulary({"tokens": counts})
    indices = indexer.tokens_to_indices([Token(word) for word in words], vocabulary)["tokens"]
    assert [vocabulary.get_token_from_index(index) for index in indices] == ["0000-00-00", "0000-00-00", "u0", "eu"]


@given(st.lists(st.text(st.characters(exclude_characters="123456789"), min_size=1)))
def test_other_words_are_as_with_single_id(words):
    assert counted(build(), words) == counted(build("single_id"), words)
