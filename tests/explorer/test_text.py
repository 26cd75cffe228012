"""What was typed becomes tokens or a message, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.explorer.limits import Limits
from elmo_plugin.explorer.text import PageError, check_place, check_sentences, read_text


def test_lines_are_sentences_and_blank_ones_are_none():
    assert read_text("They don't.\n \n\nYes\r\n") == [["They", "do", "n't", "."], ["Yes"]]
    assert read_text("They don't.\n", is_split=True) == [["They", "don't."]]
    assert read_text("") == read_text(" \n\t\n") == []


# As many words as characters at most: nothing here is beyond the limits.
@given(st.text(max_size=99), st.booleans())
def test_any_text_is_read_or_refused_by_name(text, is_split):
    sentences = read_text(text, is_split)

    assert check_sentences(sentences) == sentences
    assert all(sentence and all(sentence) for sentence in sentences)
    if is_split:
        assert [word for sentence in sentences for word in sentence] == text.split()


@pytest.mark.parametrize(
    "text,message",
    [
        ("x" * 31, "31 characters, more than the 30"),
        ("a\nb\nc\nd", "4 sentences, more than the 3"),
        ("a b c d\ne f g h", "8 words, more than the 7"),
        ("a b c d e", "Sentence 1 has 5 words, more than the 4"),
        ("a\nabcdefghijk", "Sentence 2 has a word of 11 characters, more than the 10"),
        ("ab\ud83d", r"Character 3 of the text is half of a character \(U\+D83D\)"),
    ],
)
def test_what_is_too_much_is_said_in_numbers(text, message):
    limits = Limits(characters=30, sentences=3, words=7, words_in_a_sentence=4, characters_in_a_word=10)

    with pytest.raises(PageError, match=message):
        read_text(text, limits=limits)


@pytest.mark.parametrize(
    "data", [None, 3, "text", {"a": 1}, ["text"], [[]], [[1]], [[""]], [[" "]], [["a"], None], [["\ud83d"]]], ids=repr
)
def test_what_no_page_sends_is_refused(data):
    with pytest.raises(PageError, match="The browser sent"):
        check_sentences(data)


def test_limits_hold_for_what_a_browser_sends():
    with pytest.raises(PageError, match="2 sentences, more than the 1"):
        check_sentences([["a"], ["b"]], Limits(sentences=1))


@pytest.mark.parametrize(
    "place", [(None, 0), (0, None), (1, 0), (0, 2), (-1, 0), (0, -1), (True, 0), ("0", 0)], ids=str
)
def test_words_that_are_not_there_are_refused(place):
    check_place([["a", "b"]], 0, 1)
    with pytest.raises(PageError, match="no such word"):
        check_place([["a", "b"]], *place)
