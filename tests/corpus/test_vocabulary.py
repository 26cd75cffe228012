from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.corpus.text import Corpus
from elmo_plugin.corpus.vocabulary import build_vocabulary, read_vocabulary, write_vocabulary


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "text").write_text("b a a c\na <S> b d é\n", encoding="utf-8")
    return Corpus(tmp_path / "text")


def test_specials_then_falling_counts(corpus):
    report = build_vocabulary(corpus)

    assert report.words == ["<S>", "</S>", "<UNK>", "a", "b", "c", "d", "é"]
    assert (report.sentences, report.tokens, report.types) == (2, 9, 6)


def test_cap_and_least_count(corpus):
    capped = build_vocabulary(corpus, max_size=5)

    assert capped.words == ["<S>", "</S>", "<UNK>", "a", "b"]
    assert capped.coverage == pytest.approx(5 / 9)
    assert build_vocabulary(corpus, min_count=2).words == capped.words
    with pytest.raises(ValueError, match="max_size is 3"):
        build_vocabulary(corpus, max_size=3)


def test_round_trip(corpus, tmp_path):
    words = build_vocabulary(corpus).words
    write_vocabulary(words, tmp_path / "vocabulary.txt")

    assert read_vocabulary(tmp_path / "vocabulary.txt") == words


@given(
    sentences=st.lists(st.lists(st.text("ab\0é日🙂<S>", min_size=1, max_size=2), min_size=1, max_size=5), min_size=1),
    max_words=st.integers(1, 6),
    max_size=st.none() | st.integers(4, 9),
    min_count=st.integers(1, 3),
)
def test_memory_bounds_no_count(sentences, max_words, max_size, min_count):
    """A text as large as one likes has as many words as one likes: they are counted on disk, exactly."""
    corpus = Corpus("made up", read_lines=lambda _: sentences)
    expected = Counter(word for words in sentences for word in words)
    ranked = sorted(
        (word for word in expected if expected[word] >= min_count), key=lambda word: (-expected[word], word)
    )
    report = build_vocabulary(corpus, max_size, min_count, max_words)

    assert report.words == ["<S>", "</S>", "<UNK>", *ranked][:max_size]
    assert (report.tokens, report.types) == (sum(expected.values()), len(expected))
    assert report.covered_tokens == sum(expected[word] for word in report.words[3:])


def test_byte_order_mark_is_no_part_of_a_word(tmp_path):
    (tmp_path / "v").write_text("<S>\n</S>\n<UNK>\na\n", encoding="utf-8-sig")

    assert read_vocabulary(tmp_path / "v") == ["<S>", "</S>", "<UNK>", "a"]


@pytest.mark.parametrize(
    "text,message",
    [
        ("<S>\n</S>\n<UNK>\n\udcff\n", r"v: .*expected one word a line in UTF-8"),
        ("a\nb\n", r"starts with \['a', 'b'\]"),
        ("<S>\n</S>\n<UNK>\na\na\n", r"1 words are repeated, among them \['a'\]"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    (tmp_path / "v").write_text(text, errors="surrogateescape")
    with pytest.raises(ValueError, match=message):
        read_vocabulary(tmp_path / "v")
