"""What outlives a call: settings, and for each device its workspaces, graphs, streams and way to compute a step."""

import logging
import threading
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.backends.base import Clips, LstmJob, LstmResult
from elmo_plugin.engine.backends.cuda import triton_steps
from elmo_plugin.engine.backends.cuda.graphs import CudaRecorder, GraphCache, Recorder
from elmo_plugin.engine.backends.cuda.inference import Inference
from elmo_plugin.engine.backends.cuda.lanes import Lanes
from elmo_plugin.engine.backends.cuda.memory import LayerShape
from elmo_plugin.engine.backends.cuda.schedule import row_bucket
from elmo_plugin.engine.backends.cuda.settings import AUTO, CudaSettings
from elmo_plugin.engine.backends.cuda.steps import Steps, TorchSteps
from elmo_plugin.engine.backends.cuda.triton_steps import Kernels, TritonSteps
from elmo_plugin.engine.backends.cuda.workspace import Workspace
from elmo_plugin.engine.errors import BackendUnavailableError
from elmo_plugin.engine.packing import Packing
from elmo_plugin.engine.streams import StreamOrder

logger = logging.getLogger(__name__)

#: layer shapes whose workspaces are kept on a device: those of one biLM, and of one more
MAX_WORKSPACES = 2

KernelLoader = Callable[[torch.device], Tuple[Optional[Kernels], str]]


class DeviceRuntime:
    """
    One device.

    # Parameters

    device : with its number, if there can be several.
    settings : see there.
    make_recorder, load_kernels : how graphs are captured and kernels loaded; others than those of CUDA are for tests.
    """

    def __init__(
        self,
        device: torch.device,
        settings: CudaSettings,
        make_recorder: Callable[[torch.device], Recorder] = CudaRecorder,
        load_kernels: KernelLoader = triton_steps.load,
    ) -> None:
        #: of steps with gradients, which other threads may launch while graphs are captured: see `_graph_lanes`
        self.lanes = Lanes(device)
        # What is launched on a stream that is being captured goes into the graph: nobody else may have these.
        self._graph_lanes = Lanes(device)
        self._device = device
        self._settings = settings
        self._make_recorder = make_recorder
        self._load_kernels = load_kernels
        self._kernels: Optional[Tuple[Optional[Kernels], str]] = None
        self._recorder: Optional[Recorder] = None
        self._workspaces: OrderedDict[LayerShape, Workspace] = OrderedDict()
        self._lock = threading.Lock()
        self._order = StreamOrder()

    def infer(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        """Run jobs without gradients; arguments as for `Inference`."""
        shape = LayerShape.of(jobs[0].weights)
        with self._alone():
            steps = self.steps(shape.dtype)
            workspace = self._workspace(shape, len(jobs), packing.rows, steps)
            return Inference(jobs, packing, clips, steps, workspace, self._graph_lanes).run()

    def steps(self, dtype: torch.dtype) -> Steps:
        """
        The way to compute steps in a dtype.

        # Raises

        `BackendUnavailableError` where the settings ask for Triton and it does not work here.
        """
        wanted = self._settings.steps
        if wanted == "torch" or (wanted == AUTO and dtype == torch.float64):
            return TorchSteps()
        if self._kernels is None:
            self._kernels = self._load_kernels(self._device)
            if self._kernels[0] is None and wanted == AUTO:
                logger.warning(
                    "backend 'cuda' on %s computes steps by PyTorch's operators, which takes more launches: %s",
                    self._device,
                    self._kernels[1],
                )
        kernels, reason = self._kernels
        if wanted == AUTO:
            return _best_steps(kernels, dtype)
        fused = wanted == "fused"
        problem = reason if kernels is None else kernels.unsuitable(dtype, fused)
        if kernels is None or problem is not None:
            raise BackendUnavailableError(
                f"backend 'cuda': steps {wanted!r} cannot run on {self._device}: {problem}. "
                f"Use steps {AUTO!r} or 'torch'."
            )
        return TritonSteps(kernels.module, fused)

    def _workspace(self, shape: LayerShape, directions: int, rows: int, steps: Steps) -> Workspace:
        room = row_bucket(rows)
        if room > self._settings.block_tokens:
            # A step fills a block: launches do not matter, and so much memory is not kept.
            return self._make_workspace(shape, directions, room, 0, steps)
        found = self._workspaces.get(shape)
        if found is None or found.rows < rows or len(found.memories) < directions:
            self._drop(shape)
            while len(self._workspaces) >= MAX_WORKSPACES:
                self._drop(next(iter(self._workspaces)))
            found = self._make_workspace(shape, directions, room, self._settings.max_graphs, steps)
            self._workspaces[shape] = found
        self._workspaces.move_to_end(shape)
        return found

    def _make_workspace(self, shape: LayerShape, directions: int, rows: int, graphs: int, steps: Steps) -> Workspace:
        if self._recorder is None:
            self._recorder = self._make_recorder(self._device)
        cache = GraphCache(self._recorder, graphs)
        tokens = max(self._settings.block_tokens, rows)
        return Workspace(shape, directions, rows, tokens, steps, cache, self._device)

    def _drop(self, shape: LayerShape) -> None:
        workspace = self._workspaces.pop(shape, None)
        if workspace is not None:
            workspace.graphs.clear()

    def release(self) -> None:
        """Give workspaces and graphs back."""
        with self._alone():
            for shape in list(self._workspaces):
                self._drop(shape)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Use the workspaces in one thread at a time, and on the GPU behind what used them on whichever stream."""
        with self._lock, self._order.turn(self._device):
            yield


def _best_steps(kernels: Optional[Kernels], dtype: torch.dtype) -> Steps:
    """Products inside the kernels in half precision alone: without tensor cores PyTorch's own are faster."""
    if kernels is not None:
        if dtype != torch.float32 and kernels.unsuitable(dtype, fused=True) is None:
            return TritonSteps(kernels.module, fused=True)
        if kernels.unsuitable(dtype, fused=False) is None:
            return TritonSteps(kernels.module, fused=False)
    return TorchSteps()


class Runtime:
    """
    All devices.

    # Parameters

    make_device : makes what belongs to one device.
    """

    def __init__(self, make_device: Callable[[torch.device, CudaSettings], DeviceRuntime] = DeviceRuntime) -> None:
        self.settings = CudaSettings()
        self._make_device = make_device
        self._devices: Dict[torch.device, DeviceRuntime] = {}
        self._lock = threading.Lock()

    def on(self, device: torch.device) -> DeviceRuntime:
        """What belongs to the device."""
        with self._lock:
            if device not in self._devices:
                self._devices[device] = self._make_device(device, self.settings)
            return self._devices[device]

    def configure(self, **changes: Any) -> CudaSettings:
        """
        Change settings of the process, give back what was made under the old ones, and return the new ones.

        # Parameters

        changes : fields of `CudaSettings`.

        # Raises

        `OptionsError` for a value that there is not.
        """
        self.settings = replace(self.settings, **changes)
        self.release()
        return self.settings

    def release(self) -> None:
        """Give the memory of all workspaces and graphs back to PyTorch."""
        with self._lock:
            for device in self._devices.values():
                device.release()
            self._devices.clear()
