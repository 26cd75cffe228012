import numpy as np
import pytest

from elmo_plugin.benchmark import text


@pytest.fixture(scope="module")
def sentences():
    return text.make_sentences(2000, seed=0)


def test_lengths_are_those_of_english(sentences):
    lengths = [len(sentence) for sentence in sentences]

    assert 18 <= np.mean(lengths) <= 22
    assert np.median(lengths) < np.mean(lengths)
    assert min(lengths) >= 1


@pytest.mark.parametrize("size,expected", [(8, 0.64), (32, 0.47), (64, 0.40)])
def test_words_come_again_as_in_english(sentences, size, expected):
    batches = text.natural_batches(sentences, size, len(sentences) // size)

    assert np.mean([text.distinct_ratio(batch) for batch in batches]) == pytest.approx(expected, abs=0.02)


def test_words_are_as_long_as_in_english(sentences):
    words = [word for sentence in sentences for word in sentence]

    assert 4 <= np.mean([len(word) for word in words]) <= 6
    assert any(not word.isascii() for word in words)
    assert len({word for word in words if word == "the"}) == 1
    assert all(word and not any(map(str.isspace, word)) for word in words)


def test_seed_decides():
    assert text.make_sentences(20, seed=1) == text.make_sentences(20, seed=1)
    assert text.make_sentences(20, seed=1) != text.make_sentences(20, seed=2)


def test_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("A b\n\nc\u2028d\n", encoding="utf-8")

    assert text.read_sentences(path, 3) == [["A", "b"], ["c", "d"], ["A", "b"]]


@pytest.mark.parametrize(
    "content,message", [(b"\n \n", "no sentence"), (b"\xff\xfe", "expected a text in UTF-8"), (None, "No such file")]
)
def test_file_that_cannot_be_used(tmp_path, content, message):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(text.TextError, match=message) as caught:
        text.read_sentences(path, 1)
    assert str(path) in str(caught.value)


def test_natural_batches():
    assert text.natural_batches([["a"], ["b"], ["c"], ["d"], ["e"]], 2, 2) == [[["a"], ["b"]], [["c"], ["d"]]]


def test_sorted_batches_are_spread_from_short_to_long():
    sentences = [["w"] * length for length in (8, 1, 7, 2, 6, 3, 5, 4)]

    assert [[len(s) for s in batch] for batch in text.sorted_batches(sentences, 2, 2)] == [[3, 4], [7, 8]]
    assert [[len(s) for s in batch] for batch in text.sorted_batches(sentences, 2, 1)] == [[5, 6]]
    assert [len(batch[0]) for batch in text.sorted_batches(sentences, 1, 8)] == list(range(1, 9))
