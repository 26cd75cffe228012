"""A part of a data set: how large, which, and who takes what."""

import pytest

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

LINES = [f"word{number}###N" for number in range(400)]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data.txt").write_text("\n".join(LINES) + "\n")
    return str(tmp_path / "data.txt")


def read(path, **parameters):
    params = Params({"type": "fraction", "reader": {"type": "sequence_tagging"}, **parameters})
    return [str(instance["tokens"].tokens[0]) for instance in DatasetReader.from_params(params).read(path)]


@pytest.mark.parametrize(("fraction", "expected"), [(0.25, 100), (0.0025, 1), (0.004, 2), (0.999, 400)])
def test_size(path, fraction, expected):
    assert len(set(read(path, fraction=fraction))) == expected


def test_the_order_of_the_file_is_of_no_importance(path, tmp_path):
    (tmp_path / "other.txt").write_text("\n".join(reversed(LINES)) + "\n")

    assert read(str(tmp_path / "other.txt"), fraction=0.2) == read(path, fraction=0.2)


def test_the_whole_is_the_whole(path):
    assert len(read(path, fraction=1)) == len(LINES)


def test_the_same_part_each_time_and_another_for_another_seed(path):
    assert read(path, fraction=0.1) == read(path, fraction=0.1)
    assert read(path, fraction=0.1) != read(path, fraction=0.1, seed=1)


def test_a_smaller_part_lies_in_a_larger(path):
    assert set(read(path, fraction=0.05)) < set(read(path, fraction=0.3))


@pytest.mark.parametrize("fraction", [0, 1.5, -0.1])
def test_other_fractions_are_refused(path, fraction):
    with pytest.raises(ConfigurationError, match=f'"fraction" is {fraction}'):
        read(path, fraction=fraction)


def test_nothing_is_no_part(path):
    with pytest.raises(ConfigurationError, match="data.txt: a .fraction. of 1e-06 is none"):
        read(path, fraction=1e-6)
