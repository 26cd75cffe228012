"""Steps by Triton's kernels: everything but the products in one launch, or the products in it too."""

import subprocess
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

import torch

from elmo_plugin.engine.backends.base import Clips, LstmWeights
from elmo_plugin.engine.backends.cuda import tiles
from elmo_plugin.engine.backends.cuda.memory import LayerShape, Memory
from elmo_plugin.engine.backends.cuda.schedule import Span
from elmo_plugin.engine.backends.cuda.steps import GRAPH_ROWS, Steps

MIN_TRITON = (3, 0)

#: compute capabilities from which Triton works, and from which it has bfloat16 and uses tensor cores
MIN_CAPABILITY, TENSOR_CORE_CAPABILITY = (7, 0), (8, 0)

#: What can go wrong when Triton builds and launches its first kernel, beside its own errors: no compiler, no driver, an
#: unknown processor.
_PROBE_ERRORS = (ImportError, OSError, RuntimeError, subprocess.SubprocessError)


class TritonSteps(Steps):
    """
    Triton's kernels for float32 and half precision.

    # Parameters

    kernels : the module `_kernels.step`.
    fused : take the products inside the kernels too, where rows that do not run cost nothing; else by PyTorch.
    """

    def __init__(self, kernels: Any, fused: bool) -> None:
        self.name = "fused" if fused else "triton"
        self._kernels = kernels
        self._fused = fused

    def graph_rows(self) -> Optional[int]:
        return None if self._fused else GRAPH_ROWS

    def scratch(self, shape: LayerShape, rows: int, device: torch.device) -> Dict[str, torch.Tensor]:
        def empty(*sizes: int, dtype: torch.dtype = shape.dtype) -> torch.Tensor:
            return torch.empty(sizes, dtype=dtype, device=device)

        made = {"emitted": empty(rows, shape.cells)}
        if self._fused:
            # A launch over fewer rows is cut into more shares: one row into the most.
            made["shares"] = empty(tiles.splits(1, shape.cells, shape.width), rows, shape.width, dtype=torch.float32)
        else:
            made["product"] = empty(rows, 4 * shape.cells)
            made["projected"] = empty(rows, shape.width)
        return made

    def forward(
        self, memory: Memory, weights: LstmWeights, clips: Clips, index: int, rows: int, span: Optional[Span]
    ) -> None:
        self._gates(memory, weights, clips, index, rows)
        emitted = memory.scratch["emitted"]
        if weights.projection is None:
            self._finish(memory, emitted, 1, None, index, rows)
        elif self._fused:
            self._project(memory, weights.projection, clips, index, rows)
        else:
            projected = memory.scratch["projected"]
            torch.mm(emitted[:rows], weights.projection.t(), out=projected[:rows])
            self._finish(memory, projected, 1, clips.projection, index, rows)

    def _gates(self, memory: Memory, weights: LstmWeights, clips: Clips, index: int, rows: int) -> None:
        cells, width = memory.shape.cells, memory.shape.width
        if self._fused:
            tile = tiles.gates_tile(rows, cells, width)
        else:
            product = memory.scratch["product"]
            torch.mm(memory.hidden[:rows], weights.recurrent.t(), out=product[:rows])
            tile = tiles.Tile(rows=1, columns=tiles.piece(cells), depth=16, warps=4, stages=1)
        records = memory.recorded_cell is not None
        self._kernels.gates[(tiles.ceil_div(rows, tile.rows), tiles.ceil_div(cells, tile.columns))](
            memory.inputs,
            # pointers that the kernel does not follow need some tensor all the same
            memory.inputs if self._fused else memory.scratch["product"],
            memory.hidden,
            weights.recurrent,
            memory.cell,
            memory.scratch["emitted"],
            memory.recorded_cell if records else memory.cell,
            memory.schedule,
            index,
            CELLS=cells,
            WIDTH=width,
            CELL_CLIP=_bound(clips.cell),
            MULTIPLIES=self._fused,
            RECORDS=records,
            BLOCK_ROWS=tile.rows,
            BLOCK_CELLS=tile.columns,
            BLOCK_WIDTH=tile.depth,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )

    def _project(self, memory: Memory, projection: torch.Tensor, clips: Clips, index: int, rows: int) -> None:
        cells, width = memory.shape.cells, memory.shape.width
        tile = tiles.project_tile(rows, cells)
        splits = tiles.splits(rows, cells, width)
        shares = memory.scratch["shares"]
        grid = (tiles.ceil_div(rows, tile.rows), tiles.ceil_div(width, tile.columns), splits)
        self._kernels.project[grid](
            memory.scratch["emitted"],
            projection,
            shares,
            shares.stride(0),
            memory.hidden,
            memory.outputs,
            memory.schedule,
            index,
            CELLS=cells,
            WIDTH=width,
            CLIP=_bound(clips.projection),
            SPLITS=splits,
            SPAN=tiles.ceil_div(cells, splits * tile.depth) * tile.depth,
            BLOCK_ROWS=tile.rows,
            BLOCK_WIDTH=tile.columns,
            BLOCK_CELLS=tile.depth,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )
        if splits > 1:
            self._finish(memory, shares, splits, clips.projection, index, rows)

    def _finish(
        self, memory: Memory, shares: torch.Tensor, splits: int, bound: Optional[float], index: int, rows: int
    ) -> None:
        width = memory.shape.width
        block = tiles.piece(width)
        self._kernels.finish[(rows, tiles.ceil_div(width, block))](
            shares,
            shares.stride(0),
            memory.hidden,
            memory.outputs,
            memory.schedule,
            index,
            WIDTH=width,
            CLIP=_bound(bound),
            SPLITS=splits,
            BLOCK_WIDTH=block,
            num_warps=4,
        )

    def output_gradient(
        self,
        later: torch.Tensor,
        arriving: torch.Tensor,
        outputs: torch.Tensor,
        bound: Optional[float],
        target: torch.Tensor,
    ) -> None:
        numbers = target.numel()
        block = tiles.piece(numbers)
        self._kernels.arrive[(tiles.ceil_div(numbers, block),)](
            later, arriving, outputs, target, numbers, CLIP=_bound(bound), BLOCK=block, num_warps=4
        )

    def gate_gradients(
        self,
        d_emitted: torch.Tensor,
        gates: torch.Tensor,
        previous_cell: torch.Tensor,
        cell: torch.Tensor,
        d_cell: torch.Tensor,
        bound: Optional[float],
        target: torch.Tensor,
    ) -> None:
        rows, cells = cell.shape
        block = tiles.piece(cells)
        self._kernels.gates_backward[(rows, tiles.ceil_div(cells, block))](
            d_emitted,
            gates,
            previous_cell,
            cell,
            d_cell,
            target,
            CELLS=cells,
            CLIP=_bound(bound),
            BLOCK=block,
            num_warps=4,
        )


def _bound(bound: Optional[float]) -> Optional[float]:
    """Kernels are compiled for a bound: 3 and 3.0 have to be the same one."""
    return None if bound is None else float(bound)


@dataclass(frozen=True)
class Kernels:
    """
    Kernels that work on a device.

    # Parameters

    module : `_kernels.step`.
    capability : of the device.
    """

    module: Any
    capability: Tuple[int, int]

    def unsuitable(self, dtype: torch.dtype, fused: bool) -> Optional[str]:
        """Say why they cannot compute in this dtype; None where they can."""
        if dtype not in (torch.float32, torch.bfloat16, torch.float16):
            return f"the kernels do not compute in {dtype}"
        if self.capability >= TENSOR_CORE_CAPABILITY:
            return None
        if dtype == torch.bfloat16 or fused:
            what = "bfloat16" if dtype == torch.bfloat16 else "products inside the kernels"
            return f"compute capability is {self.capability}, but {what} take {TENSOR_CORE_CAPABILITY} or more"
        return None


def load(device: torch.device) -> Tuple[Optional[Kernels], str]:
    """
    Import the kernels and launch one.

    # Returns

    The kernels, or None and the reason why they cannot be used on `device`.
    """
    try:
        import triton

        if tuple(int(part) for part in triton.__version__.split(".")[:2]) < MIN_TRITON:
            return None, f"Triton {triton.__version__} is older than {'.'.join(map(str, MIN_TRITON))}"
        from triton.errors import TritonError

        from elmo_plugin.engine.backends.cuda._kernels import step
    except ImportError as error:
        return None, f"Triton cannot be imported ({error})"
    capability = torch.cuda.get_device_capability(device)
    if capability < MIN_CAPABILITY:
        return None, f"compute capability is {capability}, Triton needs {MIN_CAPABILITY} or more"
    try:
        probe(step, device)
    except (TritonError, *_PROBE_ERRORS) as error:
        return None, f"Triton cannot launch a kernel ({type(error).__name__}: {error})"
    return Kernels(step, capability), ""


def probe(kernels: Any, device: torch.device) -> None:
    """Launch one kernel and look at what it computes; raise one of many errors where that fails."""
    ones = torch.ones(1, 8, device=device)
    found = torch.empty_like(ones)
    TritonSteps(kernels, fused=False).output_gradient(ones, ones, ones, None, found)
    if not bool((found == 2).all()):
        raise RuntimeError(f"1 + 1 gives {found.flatten().tolist()}")
