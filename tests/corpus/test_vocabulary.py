import pytest

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
    write_vocabulary(words, tmp_path / "new" / "vocabulary.txt")

    assert read_vocabulary(tmp_path / "new" / "vocabulary.txt") == words


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
