import math

import pytest
import torch

from elmo_plugin.engine.backends.base import FLOAT16, FLOAT32, INT8, LstmWeights
from elmo_plugin.engine.backends.cpu import products
from elmo_plugin.engine.backends.cpu.products import DenseProduct, Float16Product, Int8Product, PackedProduct
from elmo_plugin.engine.errors import OptionsError
from tests.engine.backends.jobs import all_of, one_job

#: largest relative error; of int8 most comes from the inputs, which have 7 bits
TOLERANCE = {DenseProduct: 1e-6, PackedProduct: 1e-6, Float16Product: 1e-3, Int8Product: 0.03}
AVAILABLE = {
    DenseProduct: True,
    PackedProduct: products.can_pack(),
    Float16Product: products.unavailable_reason(FLOAT16) is None,
    Int8Product: products.unavailable_reason(INT8) is None,
}


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def make(kind, weight):
    if not AVAILABLE[kind]:
        pytest.skip(f"no {kind.__name__} here")
    return kind(weight.t()) if kind is DenseProduct else kind(weight)


@pytest.mark.parametrize("rows", [1, 3, 4, 17, 64, 200])
@pytest.mark.parametrize("kind", TOLERANCE)
def test_products_are_right_for_any_number_of_rows(kind, rows):
    weight, x = draw(70, 50), draw(rows, 50)
    expected = x.double() @ weight.double().t()
    product = make(kind, weight)

    written, added = torch.full((rows, 70), float("nan")), torch.ones(rows, 70)
    product.into(x, written)
    product.add_to(x, added)

    allowed = TOLERANCE[kind] * expected.abs().max()
    assert (written - expected).abs().max() <= allowed
    assert (added - 1 - expected).abs().max() <= allowed


@pytest.mark.parametrize("kind", TOLERANCE)
def test_rows_that_are_no_rows_of_their_own_memory(kind):
    """As the states of rows that are still running are."""
    weight, x = draw(70, 50), draw(9, 100)[:, :50]
    out = torch.zeros(9, 70)
    make(kind, weight).into(x, out)

    assert (out - x @ weight.t()).abs().max() <= 2 * TOLERANCE[kind] * out.abs().max()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("kind", TOLERANCE)
def test_an_input_that_is_no_number_never_gives_numbers(kind, bad):
    x, out = draw(9, 50), torch.zeros(9, 70)
    x[2, 3] = bad
    make(kind, draw(70, 50)).into(x, out)

    assert not out[2].isfinite().any()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e6])
def test_weights_that_float16_cannot_hold_are_refused(bad):
    """They would become 65504."""
    weight = draw(70, 50)
    weight[3, 4] = bad

    with pytest.raises(OptionsError, match="a weight of the LSTMs is beyond 65504"):
        make(Float16Product, weight)


@pytest.mark.parametrize("name", ["cpu", "compiled"])
@pytest.mark.parametrize("part", ["input", "recurrent", "projection"])
def test_no_weight_of_a_layer_that_float16_cannot_hold_is_rounded(require_backend, name, part):
    require_backend(name)
    if not AVAILABLE[Float16Product]:
        pytest.skip("no float16 here")
    job = one_job([3, 1], precision=FLOAT16)
    getattr(job.weights, part)[1, 2] = 1e6

    with pytest.raises(OptionsError, match="beyond 65504"):
        all_of(job, [3, 1], name)


def test_a_weight_of_zeros_stays_one():
    out = torch.ones(5, 4)
    make(Int8Product, torch.zeros(4, 6)).into(draw(5, 6), out)

    assert not out.any()


def weights(cells, projection):
    return LstmWeights(draw(4 * cells, 8), draw(4 * cells, projection), draw(4 * cells), draw(projection, cells))


def test_large_weights_are_packed_and_small_ones_transposed():
    made = products.prepare(weights(cells=520, projection=512), FLOAT32)

    assert isinstance(made.recurrent, PackedProduct if products.can_pack() else DenseProduct)
    assert isinstance(made.projection, DenseProduct) and isinstance(made.input, DenseProduct)


def test_without_packing_all_are_transposed(monkeypatch):
    monkeypatch.setattr(products, "can_pack", lambda: False)

    assert isinstance(products.prepare(weights(cells=520, projection=512), FLOAT32).recurrent, DenseProduct)


class Missing:
    def __init__(self, weight):
        raise AttributeError("no such operator")


class Wrong(DenseProduct):
    def __init__(self, weight):
        super().__init__(weight.t() + 1)


@pytest.mark.parametrize("kind", [Missing, Wrong])
def test_a_product_that_is_missing_or_wrong_is_not_used(monkeypatch, kind):
    assert not products._is_right(kind, 1e-4)
    monkeypatch.setattr(products, "Float16Product", kind)
    assert "products in float16 need FBGEMM" in products.unavailable_reason(FLOAT16)


def test_without_fbgemm(monkeypatch):
    monkeypatch.setattr(products, "_engines", lambda: ["qnnpack"])

    assert products.unavailable_reason(FLOAT32) is None
    for precision in (FLOAT16, INT8):
        assert f"products in {precision} need FBGEMM" in products.unavailable_reason(precision)
