import dataclasses
import math

import pytest
import torch

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


def test_vectors_that_are_no_numbers_are_not_equal(tmp_path):
    """Weights are finite whose products are infinite, and infinite less infinite is no number."""
    tiny.write(tmp_path)
    weights = read_weights(tmp_path)
    name = "token_encoder.projection.weight"
    huge = dataclasses.replace(weights, tensors={**weights.tensors, name: torch.full_like(weights.tensors[name], 3e38)})
    tokens, *_ = largest_differences(huge, huge, SENTENCES)

    assert math.isnan(tokens)


def test_what_cannot_be_compared(tmp_path):
    tiny.write(tmp_path / "a")
    tiny.write(tmp_path / "b", layers=3)
    one, other = read_weights(tmp_path / "a"), read_weights(tmp_path / "b")
    with pytest.raises(WeightFileError, match="has 4 layers of 12, expected 3 of 12 as in"):
        largest_differences(one, other, SENTENCES)
    for text in ([], [[], []]):
        with pytest.raises(WeightFileError, match="has no words"):
            largest_differences(one, one, text)
