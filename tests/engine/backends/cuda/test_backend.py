import copy
import pickle
from dataclasses import replace

import pytest
import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import Convolution
from elmo_plugin.engine.backends.cuda import CudaBackend, backend
from elmo_plugin.engine.backends.cuda.inference import Inference
from elmo_plugin.engine.errors import BackendUnavailableError, DeviceMemoryError, ShapeError
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.packing import Packing
from tests.engine.backends.cuda.fakes import CpuLogic
from tests.engine.backends.cuda.test_inference import made, named
from tests.engine.backends.jobs import LOOSE, PARTS, as_job, random_jobs, reference
from tests.engine.tolerance import BACKEND, assert_close

CPU = torch.device("cpu")


def test_why_it_cannot_run(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    with pytest.raises(BackendUnavailableError, match="backend 'cuda' cannot run here: no CUDA device"):
        backends.get("cuda")
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(BackendUnavailableError, match="this PyTorch is built without CUDA"):
        backends.get("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert backends.get("cuda").name == "cuda"


def test_is_preferred_on_gpus_and_supports_nothing_else():
    chosen = backends.choose(torch.device("cuda", 1))

    assert chosen.name == "cuda" and chosen.supports(torch.device("cuda", 1))
    assert not chosen.supports(CPU) and not chosen.supports(torch.device("meta"))


def test_is_a_plain_thing_to_copy_and_to_save():
    """A model holds its backend; graphs, streams and locks are not in it."""
    for other in (copy.deepcopy(CudaBackend()), pickle.loads(pickle.dumps(CudaBackend()))):
        assert isinstance(other, CudaBackend) and vars(other) == {}


def test_jobs_of_several_shapes_and_of_one():
    sizes = [(7, 4, 5), (7, 4, 3), (5, None, 5)]
    jobs = [random_jobs([3, 2], *size, reverses=[True])[0] for size in sizes]

    actual = named(CpuLogic(steps="torch").run(made(jobs), Packing([3, 2], CPU), LOOSE))

    for what, value in reference(jobs, [3, 2], LOOSE, trained=()).items():
        assert_close(actual[what], value, BACKEND[torch.float64], what)


def test_no_jobs():
    assert CpuLogic(steps="torch").run([], Packing([2], CPU), LOOSE) == []


def test_no_graph_of_gradients_where_none_is_wanted():
    leaves = [{part: job[part].requires_grad_() for part in PARTS} for job in random_jobs([3])]
    jobs = [as_job(leaf, False) for leaf in leaves]
    with torch.no_grad():
        off = CpuLogic(steps="torch").run(jobs, Packing([3], CPU), LOOSE)
    on = CpuLogic(steps="torch").run(jobs, Packing([3], CPU), LOOSE)

    assert all(result.outputs.grad_fn is None for result in off)
    assert on[0].outputs.grad_fn is on[1].cell.grad_fn is not None, "one node for both directions"


def test_tensors_that_do_not_belong_together_are_refused():
    (job,) = made(random_jobs([3], reverses=[False]))
    logic = CpuLogic(steps="torch")
    with pytest.raises(ShapeError, match="dtypes .*'cell': torch.float32.*, expected one dtype for all"):
        logic.run([replace(job, cell=job.cell.float())], Packing([3], CPU), LOOSE)
    with pytest.raises(ShapeError, match="are on .*'hidden': device.type='meta'.*, expected one device for all"):
        logic.run([replace(job, hidden=job.hidden.to("meta"))], Packing([3], CPU), LOOSE)


OUT_OF_MEMORY = RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
MESSAGE = (
    r"out of memory with 2 rows and 5 tokens, the longest row 3 \(CUDA out of memory. Tried to allocate 20.00 GiB\). "
    r"Use smaller batches, or configure\(block_tokens=..., max_graphs=...\) of elmo_plugin.engine.backends.cuda with "
    r"less than the present 99 and 64; release\(\)"
)


@pytest.mark.parametrize("trained", [False, True])
def test_out_of_memory_names_the_batch_and_what_can_be_done(monkeypatch, trained):
    def fails(*args):
        raise OUT_OF_MEMORY

    monkeypatch.setattr(Inference, "run", fails)
    monkeypatch.setattr(backend, "train", fails)
    (job,) = made(random_jobs([3, 2], reverses=[False]))
    job.inputs.requires_grad_(trained)
    with pytest.raises(DeviceMemoryError, match=MESSAGE) as caught:
        CpuLogic(steps="torch", block_tokens=99).run([job], Packing([3, 2], CPU), LOOSE)
    assert caught.value.__cause__ is OUT_OF_MEMORY


@pytest.mark.parametrize(
    "text",
    [
        "Triton Error [CUDA]: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ],
)
def test_out_of_memory_has_several_names(monkeypatch, text):
    def fails(*args):
        raise RuntimeError(text)

    monkeypatch.setattr(Inference, "run", fails)
    with pytest.raises(DeviceMemoryError, match="out of memory with 1 rows and 3 tokens"):
        CpuLogic(steps="torch").run(made(random_jobs([3])), Packing([3], CPU), LOOSE)


def test_out_of_memory_in_the_backward_pass(monkeypatch):
    logic = CpuLogic(steps="torch", block_tokens=99)
    (job,) = made(random_jobs([3, 2], reverses=[False]))
    job.inputs.requires_grad_()
    (result,) = logic.run([job], Packing([3, 2], CPU), LOOSE)

    def fails(*args, **kwargs):
        raise OUT_OF_MEMORY

    monkeypatch.setattr(torch, "empty_like", fails)
    with pytest.raises(DeviceMemoryError, match=MESSAGE):
        result.outputs.sum().backward()


def test_out_of_memory_in_the_character_cnn(monkeypatch):
    def fails(*args):
        raise OUT_OF_MEMORY

    filters = [Convolution(torch.ones(2, 4, 3), None)]
    monkeypatch.setattr(torch.nn.functional, "conv1d", fails)
    with pytest.raises(DeviceMemoryError, match="CNN of 5 distinct words with up to 9 characters") as caught:
        CudaBackend().strongest(torch.ones(5, 9, 4), filters, Derived())
    assert caught.value.__cause__ is OUT_OF_MEMORY

    monkeypatch.setattr(torch.nn.functional, "conv1d", len)
    with pytest.raises(TypeError):
        CudaBackend().strongest(torch.ones(5, 9, 4), filters, Derived())
    monkeypatch.undo()
    assert CudaBackend().strongest(torch.ones(5, 9, 4), filters, Derived()).tolist() == [[12.0, 12.0]] * 5


def test_other_errors_stay_what_they_are(monkeypatch):
    error = RuntimeError("an illegal memory access was encountered")

    def fails(*args):
        raise error

    monkeypatch.setattr(Inference, "run", fails)
    with pytest.raises(RuntimeError) as caught:
        CpuLogic(steps="torch").run(made(random_jobs([3])), Packing([3], CPU), LOOSE)
    assert caught.value is error
