import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.packing import Packing

CPU = torch.device("cpu")
some_lengths = st.lists(st.integers(0, 9), max_size=7)


def test_example_of_the_module():
    packing = Packing([3, 1, 2], CPU)

    assert packing.order.tolist() == [0, 2, 1]
    assert packing.sizes == (3, 2, 1)
    assert packing.offsets == (0, 3, 5, 6)
    assert (packing.tokens, packing.steps, packing.rows) == (6, 3, 3)
    assert [value.tolist() for value in packing.places] == [[0, 2, 1, 0, 2, 0], [0, 0, 0, 1, 1, 2]]
    assert packing.block(1) == slice(3, 5)


def test_rows_of_one_length_keep_their_order():
    assert Packing([2, 0, 2, 2], CPU).order.tolist() == [0, 2, 3]


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_no_tokens(lengths):
    packing = Packing(lengths, CPU)

    assert (packing.tokens, packing.steps, packing.rows) == (0, 0, 0)
    assert packing.pack(torch.zeros(len(lengths), 4, 2)).shape == (0, 2)
    assert packing.unpack(torch.zeros(0, 2), len(lengths), 4).shape == (len(lengths), 4, 2)
    assert packing.unpack(torch.zeros(0, 2), len(lengths), 0).shape == (len(lengths), 0, 2)


@settings(deadline=None)
@given(some_lengths, st.integers(0, 3))
def test_round_trip(lengths, surplus):
    """Padding may hold anything, and there may be more of it than the longest row needs."""
    steps = max(lengths, default=0) + surplus
    padded = torch.full((len(lengths), steps, 2), float("nan"))
    for row, length in enumerate(lengths):
        padded[row, :length] = torch.randn(length, 2)
    packing = Packing(lengths, CPU)

    packed = packing.pack(padded)

    assert packed.shape == (sum(lengths), 2)
    assert not packed.isnan().any()
    assert torch.equal(packing.unpack(packed, len(lengths), steps), padded.nan_to_num(0.0))


@settings(deadline=None)
@given(some_lengths)
def test_blocks(lengths):
    packing = Packing(lengths, CPU)
    rows, steps = packing.places

    for step in range(packing.steps):
        running = [row for row in packing.order.tolist() if lengths[row] > step]
        assert rows[packing.block(step)].tolist() == running
        assert (steps[packing.block(step)] == step).all()
        assert packing.sizes[step] == len(running)
    assert [lengths[row] for row in packing.order.tolist()] == sorted(filter(None, lengths), reverse=True)


def test_too_few_steps_are_refused():
    with pytest.raises(ShapeError, match="cannot unpack 3 steps into a batch of 2 steps"):
        Packing([3], CPU).unpack(torch.zeros(3, 1), 1, 2)


def test_gradients_pass_through():
    packing = Packing([2, 0, 1], CPU)
    padded = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda x: packing.unpack(packing.pack(x), 3, 2), [padded])
