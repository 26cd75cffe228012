import math

import pytest
import torch

from elmo_plugin.benchmark import agreement
from elmo_plugin.benchmark.agreement import Agreement

MASK = torch.tensor([[True, True], [True, False]])


def layers():
    return torch.tensor([0.5, 100.0])[:, None, None, None].expand(2, 2, 2, 3).clone()


def test_error_is_the_largest_relative_to_each_layer():
    other = layers()
    other[0, 0, 1, 2] += 0.25
    other[1, 1, 0, 0] += 10.0  # a tenth of what this layer holds

    assert agreement.error(layers(), layers(), MASK) == 0
    assert agreement.error(other, layers(), MASK) == 0.25
    other[0, 0, 1, 2] -= 0.25
    assert agreement.error(other, layers(), MASK) == pytest.approx(0.1)


def test_padding_is_not_compared():
    other = layers()
    other[:, 1, 1] = math.nan

    assert agreement.error(other, layers(), MASK) == 0


@pytest.mark.parametrize("spoil", ["nan", "shape"])
def test_what_cannot_be_compared_is_infinitely_wrong(spoil):
    other = layers()
    if spoil == "nan":
        other[0, 0, 0, 0] = math.nan
    else:
        other = other[:, :, :1]

    assert agreement.error(other, layers(), MASK) == math.inf


@pytest.mark.parametrize(
    "error,tolerance,refused",
    [
        (0.0, 1e-5, False),
        (1e-5, 1e-5, False),
        (2e-5, 1e-5, True),
        (math.inf, 1e-5, True),
        (math.nan, 1e-5, True),
        (9.0, None, False),
    ],
)
def test_refusal(error, tolerance, refused):
    assert Agreement(error, tolerance).is_refused == refused


def test_the_coarser_precision_decides():
    assert agreement.tolerance("float64", "float64") == agreement.TOLERANCE["float64"]
    assert agreement.tolerance("float64", "float32") == agreement.TOLERANCE["float32"]
    assert agreement.tolerance("int8 of compiled", "float64") < agreement.tolerance("int8 of cpu", "float64")
