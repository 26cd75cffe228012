"""The highway layer against its equations in float64; AllenNLP's is compared in tests/seq2seq_encoders."""

import pytest
import torch

from elmo_plugin.engine.highway_lstm import HighwayWeights, run_layer
from elmo_plugin.engine.packing import Packing

CELLS, INPUTS = 3, 5


def weights(highway, bias):
    generator = torch.Generator().manual_seed(0)

    def make(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    blocks, recurrent = (6, 5) if highway else (4, 4)
    return HighwayWeights(
        make(blocks * CELLS, INPUTS),
        make(blocks * CELLS) if bias else None,
        make(recurrent * CELLS, CELLS),
        make(recurrent * CELLS),
    )


def by_equations(row, weights, reverse, mask):
    """One sentence, token after token, as the module's docstring says."""
    h = c = row.new_zeros(CELLS)
    outputs = {}
    order = range(len(row))
    for t in reversed(order) if reverse else order:
        a = weights.input @ row[t]
        if weights.input_bias is not None:
            a = a + weights.input_bias
        state = weights.recurrent @ (mask * h) + weights.recurrent_bias
        blocks = (a[: len(state)] + state).split(CELLS)
        i, f, o = (torch.sigmoid(blocks[index]) for index in (0, 1, 3))
        c = i * torch.tanh(blocks[2]) + f * c
        h = o * torch.tanh(c)
        if len(blocks) == 5:
            r = torch.sigmoid(blocks[4])
            h = r * h + (1 - r) * a[5 * CELLS :]
        outputs[t] = h
    return torch.stack([outputs[t] for t in order]) if len(row) else row.new_zeros((0, CELLS))


@pytest.mark.parametrize("lengths", [[1], [4, 2, 3], [2, 2], [0, 5, 1], [0]], ids=str)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("highway,bias", [(True, True), (True, False), (False, True)])
def test_layer_is_its_equations(lengths, reverse, highway, bias):
    packing = Packing(lengths, torch.device("cpu"))
    generator = torch.Generator().manual_seed(1)
    padded = torch.randn(len(lengths), max(lengths), INPUTS, generator=generator, dtype=torch.float64).requires_grad_()
    mask = torch.rand(packing.rows, CELLS, generator=generator, dtype=torch.float64)
    coefficients = torch.randn(len(lengths), max(lengths), CELLS, generator=generator, dtype=torch.float64)
    parts = weights(highway, bias)
    leaves = [padded, *(tensor for tensor in parts if tensor is not None)]

    packed = run_layer(packing.pack(padded), parts, packing, reverse, mask)
    actual = packing.unpack(packed, len(lengths), max(lengths))
    actual_gradients = torch.autograd.grad((actual * coefficients).sum(), leaves, allow_unused=True)

    total = padded.sum() * 0
    for rank, row in enumerate(packing.order.tolist()):
        expected = by_equations(padded[row, : lengths[row]], parts, reverse, mask[rank])
        torch.testing.assert_close(actual[row, : lengths[row]], expected, rtol=0, atol=1e-12)
        total = total + (expected * coefficients[row, : lengths[row]]).sum()
    expected_gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    for found, wanted in zip(actual_gradients, expected_gradients):
        wanted = torch.zeros_like(found) if wanted is None else wanted
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize("is_all_inside", [False, True], ids=["forward inside", "backward too"])
def test_autocast_changes_nothing(is_all_inside):
    """Mixed precision (`use_amp` of AllenNLP's trainer) gives inputs of half precision, and products of it."""
    packing = Packing([3, 1], torch.device("cpu"))
    rounded = torch.randn(4, INPUTS, generator=torch.Generator().manual_seed(1)).bfloat16().requires_grad_()
    # of float32, since float64 is what autocast leaves alone
    leaves = [tensor.detach().float().requires_grad_() for tensor in weights(highway=True, bias=True)]
    parts = HighwayWeights(*leaves)

    expected = run_layer(rounded.float(), parts, packing)
    expected_gradients = torch.autograd.grad(expected.sum(), [rounded, *leaves])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = run_layer(rounded, parts, packing)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_all_inside):
            gradients = torch.autograd.grad(actual.sum(), [rounded, *leaves])

    assert actual.dtype == torch.float32 and torch.equal(actual, expected)
    assert all(torch.equal(found, wanted) for found, wanted in zip(gradients, expected_gradients))
