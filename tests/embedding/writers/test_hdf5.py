import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.embedding.part_file import WindowVectors
from elmo_plugin.embedding.writers.base import Keys
from elmo_plugin.embedding.writers.hdf5 import Hdf5Writer, dataset_name
from elmo_plugin.engine.errors import FormatError

h5py = pytest.importorskip("h5py")

NAMES = [
    "/",
    ".",
    "..",
    "",
    "a/b",
    "/a",
    "a/",
    "a//b",
    "\\",
    "\\x2f",
    "a\0b",
    "ü / 日本",
    "a" * 100_000,
    "sentence_to_index",
]


def write(path, texts, keys, is_repeatable=True):
    lengths = np.arange(len(texts))
    vectors = np.arange(lengths.sum() * 2, dtype=np.float32).reshape(-1, 2)
    writer = Hdf5Writer(path, (2,), keys, is_repeatable)
    writer.add(WindowVectors(0, texts, lengths, vectors))
    writer.close({"dim": 2, "layers": "top"})
    return np.split(vectors, lengths.cumsum()[:-1])


def test_names_that_hdf5_would_read_as_something_else(tmp_path):
    each = write(tmp_path / "out", NAMES, Keys(by_sentence=True))

    with h5py.File(tmp_path / "out", "r") as file:
        assert len(file) == len(NAMES)
        for name, vectors in zip(NAMES, each):
            np.testing.assert_array_equal(file[dataset_name(name)][...], vectors)


@given(st.text(st.characters(blacklist_categories=["Cs"])), st.text(st.characters(blacklist_categories=["Cs"])))
def test_names_are_told_apart(one, other):
    assert (dataset_name(one) == dataset_name(other)) == (one == other)


@pytest.mark.parametrize("sentence", ["The cat sat .", "50 % of it", "naïve"])
def test_ordinary_sentences_are_their_own_names(sentence):
    assert dataset_name(sentence) == sentence


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=8), unique=True, max_size=6))
def test_any_sentences(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("names") / "out"
    each = write(path, texts, Keys(by_sentence=True))

    with h5py.File(path, "r") as file:
        assert len(file) == len(texts)
        for text, vectors in zip(texts, each):
            np.testing.assert_array_equal(file[dataset_name(text)][...], vectors)


def test_sentences_that_come_again(tmp_path):
    texts = ["a", "b b", "a"]
    each = write(tmp_path / "out", texts, Keys(by_sentence=True))

    with h5py.File(tmp_path / "out", "r") as file:
        assert sorted(file) == ["a", "b b"]
        np.testing.assert_array_equal(file["a"][...], each[0])
    with pytest.raises(FormatError, match="line 3: the sentence 'a' comes again"):
        write(tmp_path / "other", texts, Keys(by_sentence=True), is_repeatable=False)


def test_layout(tmp_path):
    write(tmp_path / "out", ["", "a"], Keys())
    first = (tmp_path / "out").read_bytes()
    write(tmp_path / "out", ["", "a"], Keys())

    assert (tmp_path / "out").read_bytes() == first
    with h5py.File(tmp_path / "out", "r") as file:
        assert sorted(file) == ["0", "1", "sentence_to_index"]
        assert file["0"].shape == (0, 2) and file["1"].shape == (1, 2)
        assert file.attrs["layers"] == "top" and file.attrs["dim"] == 2


def test_the_order_of_memory_does_not_matter(tmp_path):
    lengths = np.array([2, 0, 5])
    vectors = np.random.default_rng(0).random((3, 7, 4), dtype=np.float32).transpose(1, 0, 2)
    for name, laid_out in (("layers", vectors), ("tokens", np.ascontiguousarray(vectors))):
        writer = Hdf5Writer(tmp_path / name, (3, 4), Keys(), True)
        writer.add(WindowVectors(0, ["a b", "", "c d e f g"], lengths, laid_out))
        writer.close({})

    assert (tmp_path / "layers").read_bytes() == (tmp_path / "tokens").read_bytes()
    with h5py.File(tmp_path / "tokens", "r") as file:
        np.testing.assert_array_equal(file["0"][...], vectors[:2].transpose(1, 0, 2))
        assert file["1"].shape == (3, 0, 4)
        np.testing.assert_array_equal(file["2"][...], vectors[2:].transpose(1, 0, 2))
