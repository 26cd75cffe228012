"""A single step by PyTorch's operators: where rows are, and what happens to those that do not run."""

import pytest
import torch

from elmo_plugin.engine.backends.cuda.schedule import span
from elmo_plugin.engine.backends.cuda.steps import GRAPH_ROWS, TorchSteps
from elmo_plugin.engine.packing import Packing
from tests.engine.backends.cuda.memories import HALF, LENGTHS, ROWS, filled, layer, results
from tests.engine.backends.jobs import LOOSE, NONE, TIGHT
from tests.engine.tolerance import BACKEND, assert_close


@pytest.mark.parametrize("clips", [LOOSE, TIGHT, NONE], ids=["loose", "tight", "none"])
@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
def test_places_that_are_known_and_places_on_the_device(reverse, projection, clips):
    weights = layer(projection)
    packing = Packing(LENGTHS, torch.device("cpu"))
    whole = span(packing, reverse, 0, packing.steps)
    known, device = filled(weights, whole), filled(weights, whole)
    for index, size in enumerate(whole.sizes):
        TorchSteps().forward(known, weights, clips, index, size, whole)
        TorchSteps().forward(device, weights, clips, index, ROWS, None)

    for what, value in results(known, packing).items():
        assert_close(results(device, packing)[what], value, BACKEND[torch.float64], what)


@pytest.mark.parametrize("known", [False, True])
def test_rows_that_do_not_run_keep_their_state(known):
    """What is computed for them, here not a number, goes nowhere."""
    weights = layer()
    packing = Packing(LENGTHS, torch.device("cpu"))
    whole = span(packing, False, 0, packing.steps)
    memory = filled(weights, whole)
    size = whole.sizes[2]
    assert 0 < size < packing.rows
    hidden, cell = memory.hidden.clone(), memory.cell.clone()
    TorchSteps().forward(memory, weights, LOOSE, 2, size if known else ROWS, whole if known else None)

    assert torch.equal(memory.hidden[size : packing.rows], hidden[size : packing.rows])
    assert torch.equal(memory.cell[size : packing.rows], cell[size : packing.rows])
    assert not torch.equal(memory.hidden[:size], hidden[:size])
    written = memory.outputs[: packing.tokens].isnan().all(dim=1)
    assert [not value for value in written.tolist()] == [
        packing.offsets[2] <= token < packing.offsets[3] for token in range(packing.tokens)
    ]


@pytest.mark.parametrize("dtype", HALF)
def test_cell_states_and_gates_of_half_precision_are_float32(dtype):
    weights = layer(dtype=dtype)
    packing = Packing(LENGTHS, torch.device("cpu"))
    whole = span(packing, False, 0, packing.steps)
    memory = filled(weights, whole, dtype=dtype)
    assert memory.cell.dtype == torch.float32 and memory.hidden.dtype == dtype
    TorchSteps().forward(memory, weights, LOOSE, 0, whole.sizes[0], whole)

    assert not torch.equal(memory.cell, memory.cell.to(dtype).float()), "more digits than half precision has"


@pytest.mark.parametrize("bound", [None, 0.7])
def test_gradients_of_the_gates_are_those_of_autograd(bound):
    cells, rows = 5, 3
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    sums, previous = draw(rows, 4 * cells).requires_grad_(), draw(rows, cells).requires_grad_()
    i, f, g, o = sums.chunk(4, dim=1)
    gates = torch.cat([torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)], dim=1)
    i, f, g, o = gates.chunk(4, dim=1)
    cell = i * g + f * previous
    cell = cell if bound is None else cell.clamp(-bound, bound)
    emitted = o * torch.tanh(cell)
    d_emitted, d_cell = draw(rows, cells), draw(rows, cells)
    expected = torch.autograd.grad([emitted, cell], [sums, previous], [d_emitted, d_cell])

    target, changed = torch.full_like(sums, float("nan")), d_cell.clone()
    with torch.no_grad():
        TorchSteps().gate_gradients(d_emitted, gates, previous, cell, changed, bound, target)

    assert_close(target, expected[0], BACKEND[torch.float64])
    assert_close(changed, expected[1], BACKEND[torch.float64])


def test_gradient_of_an_output_passes_where_nothing_was_clipped():
    outputs = torch.tensor([[0.5, -1.0, 1.0, -0.2]])
    target = torch.empty(1, 4)

    TorchSteps().output_gradient(torch.ones(1, 4), torch.full((1, 4), 2.0), outputs, 1.0, target)
    assert target.tolist() == [[3, 0, 0, 3]]
    TorchSteps().output_gradient(torch.ones(1, 4), torch.full((1, 4), 2.0), outputs, None, target)
    assert target.tolist() == [[3, 3, 3, 3]]


def test_graphs_of_whole_products_are_for_few_rows():
    assert TorchSteps().graph_rows() == GRAPH_ROWS
