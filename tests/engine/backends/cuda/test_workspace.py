import torch

from elmo_plugin.engine.backends.cuda.graphs import GraphCache
from elmo_plugin.engine.backends.cuda.memory import LayerShape
from elmo_plugin.engine.backends.cuda.schedule import LONGEST_PIECE
from elmo_plugin.engine.backends.cuda.steps import TorchSteps
from elmo_plugin.engine.backends.cuda.triton_steps import TritonSteps
from elmo_plugin.engine.backends.cuda.workspace import Workspace
from tests.engine.backends.cuda.fakes import FakeRecorder

SHAPE = LayerShape(cells=6, width=4, dtype=torch.bfloat16)


def workspace(steps=None):
    cache = GraphCache(FakeRecorder(), 1)
    return Workspace(SHAPE, 2, rows=4, tokens=10, steps=steps or TorchSteps(), graphs=cache, device=torch.device("cpu"))


def test_shapes_and_dtypes():
    for memory in workspace().memories:
        assert memory.inputs.shape == (14, 24) and memory.outputs.shape == (14, 4)
        assert memory.hidden.shape == (4, 4) and memory.hidden.dtype == torch.bfloat16
        assert memory.cell.shape == (4, 6) and memory.cell.dtype == torch.float32
        assert memory.schedule.shape == (LONGEST_PIECE, 2) and memory.schedule.is_contiguous()
        assert memory.recorded_cell is None and memory.scratch == {}


def test_directions_have_nothing_in_common():
    tensors = [
        tensor
        for memory in workspace(TritonSteps(None, fused=True)).memories
        for tensor in (
            memory.inputs,
            memory.hidden,
            memory.cell,
            memory.outputs,
            memory.schedule,
            *memory.scratch.values(),
        )
    ]
    places = sorted((tensor.data_ptr(), tensor.numel() * tensor.element_size()) for tensor in tensors)

    assert all(first + size <= second for (first, size), (second, _) in zip(places, places[1:]))


def test_scratch_is_what_the_kernels_need():
    fused, apart = (workspace(TritonSteps(None, fused)).memories[0].scratch for fused in (True, False))

    assert {name: tuple(tensor.shape) for name, tensor in fused.items()} == {"emitted": (4, 6), "shares": (1, 4, 4)}
    assert fused["shares"].dtype == torch.float32
    assert set(apart) == {"emitted", "product", "projected"} and apart["product"].shape == (4, 24)


def test_can_be_changed_outside_of_the_inference_mode_it_was_made_in():
    with torch.inference_mode():
        made = workspace()

    made.memories[0].hidden.add_(1)
    made.schedules.add_(1)
    assert not made.memories[0].inputs.is_inference()
