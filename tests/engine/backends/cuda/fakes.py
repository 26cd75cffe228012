"""The cuda backend without a GPU: its logic on CPU tensors, recorded operations as graphs, interpreted kernels."""

import importlib.util
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import pytest
import torch

from elmo_plugin.engine.backends.base import Backend, Clips, LstmJob, LstmResult
from elmo_plugin.engine.backends.cuda import backend, triton_steps
from elmo_plugin.engine.backends.cuda.graphs import Recorder
from elmo_plugin.engine.backends.cuda.runtime import DeviceRuntime, Runtime
from elmo_plugin.engine.packing import Packing

try:
    from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
except ImportError:  # torch < 2
    TorchDispatchMode = None

KERNELS = Path(triton_steps.__file__).parent / "_kernels" / "step.py"


class FakeRecorder(Recorder):
    """
    Graphs as CUDA's behave: capturing computes nothing, and running again uses the memory that was used then.

    An operation whose result has no fixed place writes it where it was when captured.
    """

    capturing: Optional["_Tape"] = None

    def __init__(self) -> None:
        self.captured: List[_Tape] = []
        self.waits = 0

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        if TorchDispatchMode is None:
            pytest.skip("recording operations needs PyTorch 2")
        tape = _Tape()
        FakeRecorder.capturing = tape
        try:
            with tape:
                work()
        finally:
            FakeRecorder.capturing = None
            tape.undo()
        self.captured.append(tape)
        return tape.replay

    def wait(self) -> None:
        self.waits += 1


class _Tape(TorchDispatchMode or object):
    def __init__(self) -> None:
        super().__init__()
        self.operations: List[Callable[[], None]] = []
        self.replays = 0
        self._before: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        kwargs = kwargs or {}
        self.remember([*args, *kwargs.values()])
        result = func(*args, **kwargs)
        if func._schema.is_mutable:
            self.operations.append(lambda: func(*args, **kwargs))
        elif not any(value.alias_info for value in func._schema.returns):
            assert isinstance(result, torch.Tensor), func
            self.operations.append(lambda: result.copy_(func(*args, **kwargs)))
        return result

    def launch(self, kernel: Callable[[], None], arguments: Sequence[Any]) -> None:
        with _disable_current_modes():
            self.remember(arguments)
            kernel()
        self.operations.append(kernel)

    def remember(self, arguments: Sequence[Any]) -> None:
        for value in arguments:
            if isinstance(value, torch.Tensor):
                whole = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())
                if whole.data_ptr() not in self._before:
                    self._before[whole.data_ptr()] = whole, whole.clone()

    def undo(self) -> None:
        for whole, before in self._before.values():
            whole.copy_(before)
        self._before.clear()

    def replay(self) -> None:
        self.replays += 1
        for operation in self.operations:
            operation()


@lru_cache(maxsize=1)
def interpreted_kernels() -> Any:
    """The Triton kernels as Triton's interpreter runs them, on CPU tensors; skips the test where Triton is missing."""
    pytest.importorskip("triton", reason="the kernels are run by Triton's interpreter; pip install triton (Linux)")
    return _Kernels(_module(interpret=True))


def compilable_kernels() -> Any:
    """The Triton kernels for Triton's compiler, which needs no GPU."""
    pytest.importorskip("triton", reason="the kernels are compiled by Triton; pip install triton (Linux)")
    return _module(interpret=False)


def _module(interpret: bool) -> Any:
    """Triton decides when a kernel is defined whether it will be interpreted."""
    before = os.environ.get("TRITON_INTERPRET")
    os.environ["TRITON_INTERPRET"] = "1" if interpret else "0"
    try:
        spec = importlib.util.spec_from_file_location(f"kernels_{'interpreted' if interpret else 'compiled'}", KERNELS)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        if before is None:
            del os.environ["TRITON_INTERPRET"]
        else:
            os.environ["TRITON_INTERPRET"] = before
    return module


class _Kernels:
    """Kernels whose launches a captured graph remembers."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _Kernel(getattr(self._module, name))


class _Kernel:
    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, grid: Tuple[int, ...]) -> Callable[..., None]:
        def launch(*args: Any, **kwargs: Any) -> None:
            assert all(not isinstance(value, torch.Tensor) or value.is_contiguous() for value in args)
            if FakeRecorder.capturing is None:
                self._kernel[grid](*args, **kwargs)
            else:
                FakeRecorder.capturing.launch(lambda: self._kernel[grid](*args, **kwargs), args)

        return launch


def load_interpreted(device: torch.device) -> Tuple[Optional[triton_steps.Kernels], str]:
    return triton_steps.Kernels(interpreted_kernels(), (9, 0)), ""


class CpuLogic(Backend):
    """
    All of the cuda backend but the launches themselves.

    # Parameters

    settings : fields of `CudaSettings`; `steps="triton"` and `"fused"` run interpreted kernels.
    """

    name = "cuda"

    def __init__(self, **settings: Any) -> None:
        self.recorder = FakeRecorder()
        self.runtime = Runtime(
            lambda device, chosen: DeviceRuntime(device, chosen, lambda _: self.recorder, load_interpreted)
        )
        self.runtime.configure(**settings)

    def unavailable_reason(self) -> Optional[str]:
        return None

    def supports(self, device: torch.device) -> bool:
        return device.type == "cpu"

    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        return backend.run(self.runtime, jobs, packing, clips)
