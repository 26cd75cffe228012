import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.characters import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    NUM_CHARACTER_IDS,
    batch_to_ids,
    boundary_ids,
    words_to_ids,
)
from elmo_plugin.engine.errors import OptionsError, ShapeError

#: any string, lone surrogates included
any_word = st.text(st.characters(), max_size=70) | st.sampled_from(
    ["<S>", "</S>", "", "x" * 60, "\ud800", "日本語" * 9]
)


def test_one_word():
    (row,) = words_to_ids(["aé"], 8)

    assert row.tolist() == [259, 98, 0xC3 + 1, 0xA9 + 1, 260, 261, 261, 261]
    assert row.dtype == np.int64


def test_no_words():
    assert words_to_ids([]).shape == (0, 50)


@pytest.mark.parametrize("length", [3, 10, 20, 25, 50])
def test_length_of_the_rows(length):
    rows = words_to_ids(["", "a", "x" * 100], length)

    assert rows.shape == (3, length)
    assert rows[0].tolist() == [259, 260] + [261] * (length - 2)
    assert rows[1].tolist() == [259, 98, 260] + [261] * (length - 3)
    assert rows[2].tolist() == [259] + [121] * (length - 2) + [260]


def test_a_character_of_several_bytes_may_be_cut():
    """As in bilm-tf, which cuts bytes, not characters."""
    assert words_to_ids(["aé"], 4).tolist() == [[259, 98, 0xC3 + 1, 260]]


def test_sentence_boundaries():
    begin, end = words_to_ids(["<S>", "</S>"], 6)

    assert begin.tolist() == boundary_ids(BEGIN_SENTENCE, 6).tolist() == [259, 257, 260, 261, 261, 261]
    assert end.tolist() == boundary_ids(END_SENTENCE, 6).tolist() == [259, 258, 260, 261, 261, 261]
    assert words_to_ids(["<s>"], 6).tolist() == [[259, 61, 116, 63, 260, 261]], "only bilm-tf's own spelling is one"


@settings(deadline=None)
@given(st.lists(any_word, max_size=20))
@example(["\ud83d\ude42", "\udcff", "a\ud800b"])
def test_equals_allennlp(words):
    indexer = pytest.importorskip("allennlp.data.token_indexers.elmo_indexer")

    expected = [indexer.ELMoCharacterMapper().convert_word_to_char_ids(word) for word in words]
    actual = words_to_ids(words)
    assert actual.tolist() == expected
    assert actual.size == 0 or 0 < actual.min() and actual.max() < NUM_CHARACTER_IDS


@settings(deadline=None, max_examples=20)
@given(st.lists(st.lists(any_word, max_size=4), min_size=1, max_size=4).filter(any))
def test_batch_equals_allennlp(sentences):
    elmo = pytest.importorskip("allennlp.modules.elmo")

    assert torch.equal(batch_to_ids(sentences), elmo.batch_to_ids(sentences))


def test_batch():
    ids = batch_to_ids([["a", "b"], [], ["<S>"]], 5)

    assert ids.dtype == torch.int64
    assert ids.tolist() == [
        [[259, 98, 260, 261, 261], [259, 99, 260, 261, 261]],
        [[0] * 5, [0] * 5],
        [[259, 257, 260, 261, 261], [0] * 5],
    ]


@pytest.mark.parametrize("sentences,shape", [([], (0, 0, 50)), ([[]], (1, 0, 50)), ([[], []], (2, 0, 50))])
def test_batch_without_words(sentences, shape):
    assert batch_to_ids(sentences).shape == shape


def test_batch_of_any_iterable():
    expected = batch_to_ids([["a"], ["b"]])

    assert torch.equal(batch_to_ids(iter([("a",), ("b",)])), expected)
    assert torch.equal(batch_to_ids(np.array([["a"], ["b"]])), expected)


def test_a_string_is_no_sentence():
    with pytest.raises(ShapeError, match="sentence 1 is the string 'The cat sat.', expected a list of words. Split it"):
        batch_to_ids([["The"], "The cat sat."])


@pytest.mark.parametrize("length", [-1, 0, 2])
@pytest.mark.parametrize("convert", [lambda n: words_to_ids(["a"], n), lambda n: batch_to_ids([], n)])
def test_a_row_has_room_for_a_byte(convert, length):
    with pytest.raises(OptionsError, match=f"a row of {length} characters was asked for, expected at least 3"):
        convert(length)
