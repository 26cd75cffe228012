"""Several files as one data set: what a path names, and that none of it may be missing."""

import pytest

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.data import DatasetReader
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.dataset_readers.joined import expand

NAMES = st.text(st.characters(blacklist_characters="{},", blacklist_categories=("Cs",)), max_size=5)


def read(path):
    reader = DatasetReader.from_params(Params({"type": "joined", "reader": {"type": "sequence_tagging"}}))
    return [str(instance["tokens"].tokens[0]) for instance in reader.read(str(path))]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", ["a"]),
        ("{a,b}", ["a", "b"]),
        ("x/{a,b}/{c,d}.txt", ["x/a/c.txt", "x/a/d.txt", "x/b/c.txt", "x/b/d.txt"]),
        ("a{,-long}.txt", ["a.txt", "a-long.txt"]),
        ("odd{name}.txt", ["odd{name}.txt"]),
    ],
)
def test_braces(path, expected):
    assert expand(path) == expected


@given(NAMES, st.lists(NAMES, min_size=2, max_size=4), NAMES)
def test_each_name_once(before, names, behind):
    assert expand(f"{before}{{{','.join(names)}}}{behind}") == [before + name + behind for name in names]


def test_files_one_behind_the_other(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name}###N\n")

    assert read(tmp_path / "{b,a}.txt") == ["b", "a"]
    assert read(tmp_path / "a.txt") == ["a"]


def test_braces_in_the_name_of_a_folder_that_is_there(tmp_path):
    folder = tmp_path / "da{b,c}"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text(f"{name}###N\n")

    assert read(folder / "{b,a}.txt") == ["b", "a"]
    assert expand(str(folder)) == [str(folder)] and expand(str(folder / "x")) == [str(folder / "x")]


def test_a_file_that_is_missing_is_not_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("a###N\n")
    with pytest.raises(FileNotFoundError, match="b.txt"):
        read(tmp_path / "{a,b}.txt")
