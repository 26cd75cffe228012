import dataclasses

import pytest

from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.formats import read_weights
from elmo_plugin.formats.comparison import SENTENCES, largest_differences
from tests import tiny


def test_equal_and_changed_weights(tmp_path):
    tiny.write(tmp_path)
    weights = read_weights(tmp_path)
    assert largest_differences(weights, weights, SENTENCES) == [0, 0, 0]
    name = "lstm.backward_layers.1.projection_weight"
    changed = dataclasses.replace(weights, tensors={**weights.tensors, name: weights.tensors[name] + 0.01})
    tokens, first, second = largest_differences(weights, changed, SENTENCES * 20)

    assert tokens == first == 0 < second < 0.1


def test_what_cannot_be_compared(tmp_path):
    tiny.write(tmp_path / "a")
    tiny.write(tmp_path / "b", layers=3)
    one, other = read_weights(tmp_path / "a"), read_weights(tmp_path / "b")
    with pytest.raises(WeightFileError, match="has 4 layers of 12, expected 3 of 12 as in"):
        largest_differences(one, other, SENTENCES)
    for text in ([], [[], []]):
        with pytest.raises(WeightFileError, match="has no words"):
            largest_differences(one, one, text)
