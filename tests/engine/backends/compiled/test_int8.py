import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.backends.base import LstmWeights
from elmo_plugin.engine.backends.compiled import int8, library
from tests.engine.backends.jobs import LOOSE, can_run
from tests.engine.tolerance import assert_close

needs_the_kernels = pytest.mark.skipif(not can_run("compiled"), reason="no compiled kernels here")


def test_the_kernels_are_there(require_backend):
    require_backend("compiled")


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def restored(weight):
    """A weight after rounding."""
    made = int8.rounded(weight)
    numbers = made.panels.transpose(1, 2).flatten(2).flatten(0, 1)
    assert not numbers[len(weight) :].any() and not numbers[:, weight.shape[1] :].any()
    return (numbers * made.scales[:, None])[: len(weight), : weight.shape[1]]


@given(outputs=st.integers(1, 40), inputs=st.integers(1, 40), seed=st.integers(0, 99))
def test_weights_are_rounded_to_the_nearest(outputs, inputs, seed):
    weight = draw(outputs, inputs, seed=seed) * torch.logspace(-6, 6, outputs)[:, None]
    largest = weight.abs().amax(dim=1, keepdim=True)

    assert bool(((restored(weight) - weight).abs() <= largest / 254 * 1.001).all())


def test_an_output_without_weights_is_zero():
    assert not restored(torch.zeros(3, 4)).any()


def multiply(weight, x):
    out = torch.full((len(x), len(weight)), math.nan)
    int8.Int8Product(weight).into(x, out)
    return out


@needs_the_kernels
@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 11),
    inputs=st.integers(1, 40) | st.sampled_from([511, 512, 513, 1030, 2048]),
    outputs=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_products_of_any_size(rows, inputs, outputs, seed):
    weight = draw(outputs, inputs, seed=seed)
    x = draw(rows, inputs, seed=seed + 1) * torch.logspace(-9, 9, rows)[:, None]

    expected = x.double() @ restored(weight).double().t()

    # Rounding to 16 bits moves each input by at most half a 32767th of the row's largest one.
    bound = x.abs().amax(dim=1, keepdim=True) / 65534 * weight.abs().sum(dim=1) * 1.02
    assert bool(((multiply(weight, x) - expected).abs() <= bound).all())


@needs_the_kernels
@pytest.mark.parametrize("inputs", [512, 4096, 4097])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_sums_do_not_overflow(inputs, sign):
    found = multiply(torch.ones(16, inputs), torch.full((3, inputs), sign))

    assert_close(found, torch.full((3, 16), sign * inputs), inputs * 1e-6)


@needs_the_kernels
def test_a_row_does_not_depend_on_the_others():
    weight, x = draw(33, 70), draw(9, 70, seed=1)
    x[4] *= 1e6

    together = multiply(weight, x)

    assert all(torch.equal(multiply(weight, x[row : row + 1])[0], together[row]) for row in range(9))


@needs_the_kernels
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("inputs,place", [(5, 4), (40, 3), (40, 39), (48, 47)])
def test_what_is_no_number_spoils_its_row_and_no_other(bad, inputs, place):
    weight, x = draw(20, inputs), draw(6, inputs, seed=1)
    good = multiply(weight, x)
    x[2, place] = bad

    found = multiply(weight, x)

    assert not found[2].isfinite().any()
    found[2] = good[2]
    assert torch.equal(found, good)


@needs_the_kernels
def test_rows_of_zeros_and_of_the_smallest_numbers_are_zero():
    x = torch.zeros(3, 18)
    x[1] = 1e-42
    x[2] = -1e-35

    assert not multiply(draw(20, 18), x).any()


@needs_the_kernels
@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 15),
    cells=st.integers(1, 40),
    projection=st.none() | st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_a_step_of_any_size(rows, cells, projection, seed):
    width = cells if projection is None else projection
    weights = LstmWeights(
        input=draw(1, 1),
        recurrent=draw(4 * cells, width, seed=seed) * width**-0.5,
        bias=draw(1),
        projection=None if projection is None else draw(projection, cells, seed=seed + 1) * cells**-0.5,
    )
    gates, hidden, cell = draw(rows, 4 * cells, seed=seed + 2), draw(rows, width), draw(rows, cells, seed=seed + 3)
    outputs, h, c = torch.full((rows, width), math.nan), hidden.clone(), cell.clone()

    library.run_steps(int8.Int8Panels(weights), LOOSE, [0], [rows], gates.clone(), outputs, h, c)

    i, f, g, o = (gates.double() + hidden.double() @ restored(weights.recurrent).double().t()).split(cells, dim=1)
    expected_c = (i.sigmoid() * g.tanh() + f.sigmoid() * cell).clamp(-3, 3)
    expected = o.sigmoid() * expected_c.tanh()
    if weights.projection is not None:
        expected = (expected @ restored(weights.projection).double().t()).clamp(-3, 3)
    assert_close(c.double(), expected_c, 5e-4)
    assert_close(outputs.double(), expected, 5e-4)
    assert torch.equal(h, outputs)
