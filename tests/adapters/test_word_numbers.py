"""Ids of the words of a word-level biLM."""

import pytest

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError

from elmo_plugin.adapters.word_numbers import number_words, numbers_of

VOCABULARY = ["<S>", "</S>", "<UNK>", "the", "cat"]


def test_ids_are_one_above_the_position_and_unknown_words_share_one():
    table = number_words(VOCABULARY, "here")

    assert numbers_of(["cat", "dog", "<S>", "</S>", "the"], table).tolist() == [5, 3, 1, 2, 4]
    assert numbers_of([], table).tolist() == []


@pytest.mark.parametrize("vocabulary", [["the", "<S>", "</S>", "<UNK>"], ["a"], []], ids=str)
def test_vocabulary_in_another_order_is_refused(vocabulary):
    with pytest.raises(ConfigurationError, match="here: the vocabulary starts with"):
        number_words(vocabulary, "here")


def test_missing_vocabulary_is_refused():
    with pytest.raises(ConfigurationError, match="here: .* vocabulary.txt"):
        number_words(None, "here")
