import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.engine import characters
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.lexicon import (
    SPECIAL_WORDS,
    WORD_COLUMNS,
    WORDS_PER_COLUMN,
    Lexicon,
    boundary_row,
    character_ids,
    num_character_ids,
)
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LexiconOptions, LstmOptions


def options(known="abc", words=5, length=6):
    cnn = CharCnnOptions(2, ((1, 2),), max_characters_per_token=length)
    lexicon = LexiconOptions(tuple(known), word_dim=2 if words else 0)
    return BiLmOptions(LstmOptions(3, 2), cnn, n_tokens_vocab=words or None, lexicon=lexicon)


@pytest.mark.parametrize("count", [0, 5, 255, 256, 257, 6000])
def test_ids_of_characters_leave_those_of_the_boundaries_free(count):
    ids = character_ids(count)
    specials = range(characters.BEGIN_SENTENCE + 1, characters.NUM_CHARACTER_IDS)

    assert len(set(ids)) == count + 1
    assert not set(ids) & {0, *specials}
    assert num_character_ids(count) == max(int(ids.max()), characters.PADDING + 1) + 1


def test_rows():
    lexicon = Lexicon(options(), [*SPECIAL_WORDS, "ab", "abcab"], "x")
    begin, end, pad = characters.BEGIN_WORD + 1, characters.END_WORD + 1, characters.PADDING + 1
    rows = lexicon.rows(["ab", "az", "abcabx", ""])

    assert rows.dtype == np.int16
    assert rows.tolist() == [
        [0, 4, begin, 2, 3, end, pad, pad],
        [0, 3, begin, 2, 1, end, pad, pad],  # neither the word nor one of its characters is known
        [0, 3, begin, 2, 3, 4, 2, end],  # cut to "abca", which is no word either
        [0, 3, begin, end, pad, pad, pad, pad],
    ]
    assert lexicon.batch([["ab"], [], ["a", "b"]]).shape == (3, 2, 8)
    assert lexicon.batch([]).shape == (0, 0, 8)


@pytest.mark.parametrize("word", SPECIAL_WORDS[:2])
def test_the_ends_of_a_sentence_are_words_of_one_symbol(word):
    row = Lexicon(options(length=9), [*SPECIAL_WORDS, "ab", "c"], "x").rows([word])[0]

    assert row.tolist() == boundary_row(word, 9).tolist()
    assert (row[WORD_COLUMNS:] != characters.PADDING + 1).sum() == 3


def test_words_behind_the_first_column():
    words = [str(number) for number in range(WORDS_PER_COLUMN + 2)]
    lexicon = Lexicon(options(words=WORDS_PER_COLUMN + 5, length=9), [*SPECIAL_WORDS, *words], "x")
    high, low = lexicon.rows([words[-1]])[0, :WORD_COLUMNS].tolist()

    assert high * WORDS_PER_COLUMN + low == len(words) + len(SPECIAL_WORDS)


@given(st.lists(st.text(st.characters(), max_size=9), max_size=6))
def test_any_words(words):
    rows = Lexicon(options(), [*SPECIAL_WORDS, "ab", "c"], "x").rows(words)

    assert rows.shape == (len(words), 8)
    assert (rows.any(axis=1)).all() and (rows[:, WORD_COLUMNS:] > 0).all()


def test_a_vocabulary_of_another_kind():
    for vocabulary in (None, ["<S>", "</S>", "<UNK>"]):
        with pytest.raises(OptionsError, match="x: this biLM has a table of words, whose first words are <bos>"):
            Lexicon(options(), vocabulary, "x")
    assert Lexicon(options(words=0), None, "x").rows(["ab"])[0, :2].tolist() == [0, 3]


@pytest.mark.parametrize("words", [0, 5])
def test_options_come_back(words):
    content = json.loads(json.dumps(options(words=words).to_dict()))

    assert content["lexicon"] == {"characters": ["a", "b", "c"], "word_dim": 2 if words else 0}
    assert BiLmOptions.from_dict(content) == options(words=words)
    assert options(words=words).needs_vocabulary == bool(words) and not options(words=words).is_word_level


@pytest.mark.parametrize(
    "change,message",
    [
        (
            {"lexicon": {"characters": ["a", "a"]}},
            "key 'lexicon.characters' is .*expected at most 32000 characters",
        ),
        ({"lexicon": {"characters": "abc"}}, "key 'lexicon.characters' is 'abc', expected a list of characters"),
        ({"lexicon": {"characters": [], "size": 1}}, "unknown key 'lexicon.size'"),
        ({"char_cnn": None}, "key 'char_cnn' is None, expected the character CNN that reads"),
        (
            {"n_tokens_vocab": None},
            "key 'n_tokens_vocab' is None, expected the number of words, because",
        ),
        ({"n_tokens_vocab": 2}, "key 'n_tokens_vocab' is 2, expected at least 3"),
    ],
    ids=range(6),
)
def test_options_that_do_not_fit(change, message):
    with pytest.raises(OptionsError, match=f"options: {message}"):
        BiLmOptions.from_dict({**options().to_dict(), **change})


def test_options_in_code_are_checked_too():
    lexicon = LexiconOptions(("a",), word_dim=2)
    with pytest.raises(OptionsError, match="char_cnn is None, expected the character CNN"):
        BiLmOptions(LstmOptions(3, 2), n_tokens_vocab=5, lexicon=lexicon)
    with pytest.raises(OptionsError, match="n_tokens_vocab is None, expected the number of words"):
        BiLmOptions(LstmOptions(3, 2), CharCnnOptions(2, ((1, 2),)), lexicon=lexicon)
    with pytest.raises(OptionsError, match="characters is .* expected at most 32000"):
        LexiconOptions(("a", "a"))
