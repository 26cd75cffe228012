"""A slice of a data set: what paths mean, that slices are the whole together, and what is refused."""

import shutil

import pytest

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.dataset_readers.slice import Slice, parse

LINES = [f"word{number}###N" for number in range(37)]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data.txt").write_text("\n".join(LINES) + "\n")
    return str(tmp_path / "data.txt")


def read(path):
    params = Params({"type": "slice", "reader": {"type": "sequence_tagging"}})
    return [str(instance["tokens"].tokens[0]) for instance in DatasetReader.from_params(params).read(path)]


@pytest.mark.parametrize(
    "path,expected",
    [
        ("a.txt", Slice("a.txt", 0, 100)),
        ("a.txt[:90%]", Slice("a.txt", 0, 90)),
        ("a.txt[90%:]", Slice("a.txt", 90, 100)),
        ("a.txt[:]", Slice("a.txt", 0, 100)),
        ("a[0-9].txt[5%:7%]", Slice("a[0-9].txt", 5, 7)),
        ("a[1].txt", Slice("a[1].txt", 0, 100)),
        ("a[1:2]", Slice("a[1:2]", 0, 100)),
        ("[:5%]", Slice("[:5%]", 0, 100)),
    ],
)
def test_paths(path, expected):
    assert parse(path) == expected


@pytest.mark.parametrize("part", ["[90%:10%]", "[5%:5%]", "[:101%]", "[100%:]", "[:0%]"])
def test_slices_of_nothing_are_refused(part):
    with pytest.raises(ConfigurationError, match=r"expected one that begins before it ends, within 100 %"):
        parse("a.txt" + part)


@given(st.text(), st.integers(0, 99), st.integers(1, 100))
def test_any_file_can_be_sliced(file, start, length):
    stop = min(100, start + length)

    assert parse(f"./{file}[{start}%:{stop}%]") == Slice(f"./{file}", start, stop)


def test_slices_are_the_whole_together(path):
    assert read(path + "[:90%]") + read(path + "[90%:]") == read(path) == [line.split("#")[0] for line in LINES]
    assert len(read(path + "[:90%]")) == 33


def test_a_slice_without_instances(path):
    with pytest.raises(ConfigurationError, match=r"data.txt\[1%:2%\]: none of its 37 instances"):
        read(path + "[1%:2%]")


@pytest.mark.parametrize("part", ["[90:]", "[ :50%]", "[:1000%]", "[50%]", "[0.5%:]"])
def test_what_is_almost_a_slice_is_refused_unless_it_is_a_file(path, part):
    with pytest.raises(ConfigurationError, match=r"no such file, and no slice: expected .* as in FILE\[:90%\]"):
        read(path + part)

    shutil.copy(path, path + part)

    assert len(read(path + part)) == len(LINES)


def test_other_brackets_are_part_of_a_name(path):
    """As are those of a slice in the middle."""
    for name in (path + "[1]", path + "[90:].txt"):
        with pytest.raises(FileNotFoundError):
            read(name)
