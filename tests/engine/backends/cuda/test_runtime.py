import logging

import pytest
import torch

from elmo_plugin.engine.backends.cuda.lanes import Lanes
from elmo_plugin.engine.backends.cuda.runtime import MAX_WORKSPACES, DeviceRuntime, Runtime
from elmo_plugin.engine.backends.cuda.settings import CudaSettings
from elmo_plugin.engine.backends.cuda.triton_steps import Kernels
from elmo_plugin.engine.errors import BackendUnavailableError
from elmo_plugin.engine.packing import Packing
from tests.engine.backends.cuda.fakes import CpuLogic, FakeRecorder
from tests.engine.backends.cuda.test_inference import made
from tests.engine.backends.jobs import LOOSE, random_jobs

CPU = torch.device("cpu")
HALF = (torch.float16, torch.bfloat16)


def device_runtime(loaded, steps="auto"):
    return DeviceRuntime(CPU, CudaSettings(steps=steps), lambda _: FakeRecorder(), lambda _: loaded)


def kernels(capability):
    return Kernels(object(), capability), ""


@pytest.mark.parametrize(
    "capability,expected",
    [
        ((9, 0), {torch.float32: "triton", torch.float16: "fused", torch.bfloat16: "fused", torch.float64: "torch"}),
        ((7, 5), {torch.float32: "triton", torch.float16: "triton", torch.bfloat16: "torch", torch.float64: "torch"}),
    ],
)
def test_steps_that_are_chosen(capability, expected):
    local = device_runtime(kernels(capability))

    assert {dtype: local.steps(dtype).name for dtype in expected} == expected


@pytest.mark.parametrize("steps", ["torch", "triton", "fused"])
def test_steps_that_are_asked_for(steps):
    local = device_runtime(kernels((8, 0)), steps)

    assert {local.steps(dtype).name for dtype in (torch.float32, *HALF)} == {steps}


def test_missing_triton_is_said_once(caplog):
    local = device_runtime((None, "Triton cannot be imported (no module)"))
    with caplog.at_level(logging.WARNING):
        names = [local.steps(dtype).name for dtype in (torch.float32, *HALF)]

    assert names == ["torch"] * 3
    (record,) = caplog.records
    assert "computes steps by PyTorch's operators" in record.getMessage()
    assert record.getMessage().endswith("Triton cannot be imported (no module)")


def test_kernels_are_not_looked_for_where_they_are_not_wanted():
    def load(device):
        raise AssertionError

    recorder = FakeRecorder()
    assert (
        DeviceRuntime(CPU, CudaSettings(steps="torch"), lambda _: recorder, load).steps(torch.float32).name == "torch"
    )
    assert DeviceRuntime(CPU, CudaSettings(), lambda _: recorder, load).steps(torch.float64).name == "torch"


@pytest.mark.parametrize(
    "loaded,steps,dtype,message",
    [
        (
            (None, "no compiler"),
            "triton",
            torch.float32,
            "steps 'triton' cannot run on cpu: no compiler. Use steps 'au",
        ),
        (kernels((7, 5)), "fused", torch.float16, r"steps 'fused' cannot .*capability is \(7, 5\)"),
        (kernels((9, 0)), "triton", torch.float64, "steps 'triton' cannot .*do not compute in torch.float64"),
    ],
)
def test_steps_that_were_asked_for_are_never_replaced(loaded, steps, dtype, message):
    with pytest.raises(BackendUnavailableError, match=message):
        device_runtime(loaded, steps).steps(dtype)


def call(backend, lengths, size=(7, 4, 5)):
    return backend.run(made(random_jobs(lengths, *size)), Packing(lengths, CPU), LOOSE)


def workspaces(backend):
    return list(backend.runtime.on(CPU)._workspaces.values())


def test_one_workspace_serves_all_layers_of_a_shape_and_grows():
    backend = CpuLogic(steps="torch")
    call(backend, [3, 2])
    (first,) = workspaces(backend)
    call(backend, [9])
    call(backend, [1, 1], size=(7, 4, 8))
    assert workspaces(backend) == [first]

    call(backend, [2, 2, 2])
    (second,) = workspaces(backend)
    assert second is not first and second.rows == 4
    call(backend, [2])
    assert workspaces(backend) == [second]


@pytest.mark.parametrize("calls", [1, 2])
def test_work_ends_before_its_memory_goes(calls):
    """Captured or not: the memory was used by some stream, and goes back to the one that it was made on."""
    backend = CpuLogic(steps="torch")
    ready = made(random_jobs([2]))
    for _ in range(calls):
        backend.run(ready, Packing([2], CPU), LOOSE)
    assert backend.recorder.waits == 0
    call(backend, [2, 2])

    assert backend.recorder.waits == 1


def test_captures_have_streams_of_their_own(monkeypatch):
    """What a training in another thread launches on a stream that is being captured would go into the graph."""
    used = []
    real = Lanes.run

    def run(self, tasks):
        used.append((self, FakeRecorder.capturing is not None))
        real(self, tasks)

    monkeypatch.setattr(Lanes, "run", run)
    backend = CpuLogic(steps="torch")
    ready = made(random_jobs([2]))
    for _ in range(2):
        backend.run(ready, Packing([2], CPU), LOOSE)
    inferring, captures = zip(*used)
    used.clear()
    for job in ready:
        job.inputs.requires_grad_()
    backend.run(ready, Packing([2], CPU), LOOSE)[0].outputs.sum().backward()

    assert any(captures) and used
    assert not {id(lanes) for lanes in inferring} & {id(lanes) for lanes, _ in used}


def test_workspaces_are_few():
    backend = CpuLogic(steps="torch")
    for cells in (5, 6, 7, 5, 8):
        call(backend, [2], size=(cells, 4, 5))

    assert [workspace.memories[0].shape.cells for workspace in workspaces(backend)] == [5, 8]
    assert len(workspaces(backend)) == MAX_WORKSPACES


def test_memory_for_more_rows_than_a_block_has_tokens_is_not_kept():
    backend = CpuLogic(steps="torch", block_tokens=4)
    call(backend, [1] * 9)

    assert workspaces(backend) == [] and not backend.recorder.captured


def test_configure_and_release_give_memory_back():
    backend = CpuLogic(steps="torch")
    call(backend, [2])
    before = backend.runtime.on(CPU)
    assert backend.runtime.configure(max_graphs=1).max_graphs == 1
    assert not before._workspaces and backend.runtime.on(CPU) is not before
    call(backend, [2])
    backend.runtime.release()

    assert not workspaces(backend)


def test_settings_of_a_device_are_those_of_its_runtime():
    seen = []
    shared = Runtime(lambda device, settings: seen.append(settings) or device_runtime(kernels((8, 0))))
    shared.configure(block_tokens=7)
    assert shared.on(CPU) is shared.on(CPU)

    assert [settings.block_tokens for settings in seen] == [7]


def test_work_on_another_stream_waits_for_what_used_the_workspace(monkeypatch):
    log = []

    class Stream:
        def wait_event(self, event):
            log.append("wait")

    class Event:
        def record(self, stream):
            log.append("record")

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream())
    monkeypatch.setattr(torch.cuda, "Event", Event)
    local = DeviceRuntime(torch.device("cuda", 0), CudaSettings(), lambda _: FakeRecorder(), lambda _: kernels((8, 0)))
    with local._alone():
        log.append("work")
    with pytest.raises(ValueError), local._alone():
        raise ValueError
    with local._alone():
        pass

    assert log == ["work", "record", "wait", "record", "wait", "record"]
