"""Ids of the words of a word-level biLM."""

import pytest
import torch

from elmo_plugin.engine import words
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.token_encoder import WordEncoder
from elmo_plugin.engine.words import index_vocabulary, index_words

VOCABULARY = ["<S>", "</S>", "<UNK>", "the", "cat"]


def test_ids_are_one_above_the_position_and_unknown_words_share_one():
    index = index_vocabulary(VOCABULARY, "here")

    assert index_words(["cat", "dog", "<S>", "</S>", "the"], index).tolist() == [5, 3, 1, 2, 4]
    assert index_words([], index).tolist() == []


def test_special_words_have_the_ids_that_the_token_encoder_takes_for_boundaries():
    ids = index_words(words.SPECIAL_WORDS, index_vocabulary(VOCABULARY, "here"))

    assert ids.tolist() == [words.BEGIN_SENTENCE_ID, words.END_SENTENCE_ID, words.UNKNOWN_ID]
    assert torch.equal(WordEncoder(5, 2).boundaries, torch.from_numpy(ids[:2]))


@pytest.mark.parametrize(
    "vocabulary", [["the", "<S>", "</S>", "<UNK>"], ["</S>", "<S>", "<UNK>", "the"], ["a"], []], ids=str
)
def test_vocabulary_in_another_order_is_refused(vocabulary):
    with pytest.raises(OptionsError, match="here: the vocabulary starts with.*expected <S>, </S>, <UNK>"):
        index_vocabulary(vocabulary, "here")


def test_missing_vocabulary_is_refused():
    with pytest.raises(OptionsError, match="here: .* vocabulary.txt"):
        index_vocabulary(None, "here")
