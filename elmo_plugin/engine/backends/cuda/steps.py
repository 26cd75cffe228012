"""One time step, forward and backward: what it has to do, and how PyTorch's own operators do it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Dict, Optional

import torch

from elmo_plugin.engine.backends.base import Clips, LstmWeights
from elmo_plugin.engine.backends.cuda.memory import LayerShape, Memory
from elmo_plugin.engine.backends.cuda.schedule import Span
from elmo_plugin.engine.backends.gates import activate_, clip_

#: Rows up to which a graph of products over all rows pays. The rows that are not running are multiplied too there,
#: which costs nothing while reading the weights takes longer than the arithmetic. From bytes and operations, not
#: measured.
GRAPH_ROWS = 64


class Steps(ABC):
    """A way to compute single steps. The notation is that of `elmo_plugin.engine.backends.base`."""

    name: str

    @abstractmethod
    def graph_rows(self) -> Optional[int]:
        """Rows up to which a graph pays; None for any number."""

    @abstractmethod
    def scratch(self, shape: LayerShape, rows: int, device: torch.device) -> Dict[str, torch.Tensor]:
        """Memory for `forward`, for so many rows at most."""

    @abstractmethod
    def forward(
        self, memory: Memory, weights: LstmWeights, clips: Clips, index: int, rows: int, span: Optional[Span]
    ) -> None:
        """
        Run one step: states and outputs of the running rows change, those of others do not.

        # Parameters

        memory : its schedule says which rows run.
        weights : contiguous.
        index : of the step in schedule and span.
        rows : as many as run, or more.
        span : what the schedule says, where `rows` is exact; None where the schedule may change after this call is
            captured.
        """

    @abstractmethod
    def output_gradient(
        self,
        later: torch.Tensor,
        arriving: torch.Tensor,
        outputs: torch.Tensor,
        bound: Optional[float],
        target: torch.Tensor,
    ) -> None:
        """
        Add the gradients of an output, and pass on those of values that were not clipped.

        # Parameters

        later, arriving : `(rows, width)`: by way of the next step, and from the layer's result.
        outputs : `(rows, width)`, clipped.
        bound : of the clip, or None.
        target : `(rows, width)`, for the result.
        """

    @abstractmethod
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
        """
        Go back through the gates.

        # Parameters

        d_emitted : `(rows, cells)`, gradient of what goes into the projection.
        gates : `(rows, 4 cells)`, behind their functions.
        previous_cell, cell : `(rows, cells)`, in front of and behind the step.
        d_cell : `(rows, cells)`, gradient of the cell state behind the step; is changed to that in front of it.
        bound : of the cell's clip, or None.
        target : `(rows, 4 cells)`, for the gradient in front of the functions.
        """


class TorchSteps(Steps):
    """PyTorch's own operators: any dtype, any device."""

    name = "torch"

    def graph_rows(self) -> Optional[int]:
        return GRAPH_ROWS

    def scratch(self, shape: LayerShape, rows: int, device: torch.device) -> Dict[str, torch.Tensor]:
        return {}

    def forward(
        self, memory: Memory, weights: LstmWeights, clips: Clips, index: int, rows: int, span: Optional[Span]
    ) -> None:
        cells, dtype = memory.shape.cells, memory.shape.dtype
        places = _KnownPlaces(span, index) if span is not None else _PlacesOnDevice(memory, index, rows)
        sums = torch.addmm(places.take(memory.inputs), memory.hidden[:rows], weights.recurrent.t())
        gates = sums.to(memory.shape.cell_dtype)  # (rows, 4 cells)
        i, f, g, o = activate_(gates, cells)
        c = clip_((f * memory.cell[:rows]).addcmul_(i, g), clips.cell)
        h = (o * torch.tanh(c)).to(dtype)
        if weights.projection is not None:
            h = clip_(torch.mm(h, weights.projection.t()), clips.projection)
        places.keep(memory.cell, c)
        places.keep(memory.hidden, h)
        places.put(memory.outputs, h)
        if memory.recorded_cell is not None:
            places.put(memory.inputs, gates.to(dtype))
            places.put(memory.recorded_cell, c)

    def output_gradient(
        self,
        later: torch.Tensor,
        arriving: torch.Tensor,
        outputs: torch.Tensor,
        bound: Optional[float],
        target: torch.Tensor,
    ) -> None:
        torch.add(later, arriving, out=target)
        if bound is not None:
            target.mul_(outputs.abs() < bound)

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
        i, f, g, o = gates.to(cell.dtype).chunk(4, dim=1)
        d_e = d_emitted.to(cell.dtype)
        s = torch.tanh(cell)
        d_c = torch.addcmul(d_cell, d_e * o, 1 - s * s)
        if bound is not None:
            d_c.mul_(cell.abs() < bound)
        parts = (d_c * g * i * (1 - i), d_c * previous_cell * f * (1 - f), d_c * i * (1 - g * g), d_e * s * o * (1 - o))
        for place, part in zip(target.chunk(4, dim=1), parts):
            place.copy_(part)
        torch.mul(d_c, f, out=d_cell)


@dataclass(frozen=True)
class _KnownPlaces:
    """The places of a step's rows as slices: where they are known when the step is launched."""

    span: Span
    index: int

    def _slice(self) -> slice:
        start = self.span.offsets[self.index]
        return slice(start, start + self.span.sizes[self.index])

    def take(self, packed: torch.Tensor) -> torch.Tensor:
        return packed[self._slice()]

    def put(self, packed: torch.Tensor, values: torch.Tensor) -> None:
        packed[self._slice()] = values

    def keep(self, state: torch.Tensor, values: torch.Tensor) -> None:
        state[: values.shape[0]] = values


class _PlacesOnDevice:
    """
    The places of a step's rows as indices: where only the device knows them, for any schedule.

    Rows that are not running are given places of their own behind all tokens, where what they compute does no harm.
    """

    def __init__(self, memory: Memory, index: int, rows: int) -> None:
        offset, size = memory.schedule[index, 0], memory.schedule[index, 1]
        row = torch.arange(rows, device=offset.device)
        self._live = (row < size)[:, None]
        self._place = row + torch.where(row < size, offset, memory.inputs.shape[0] - rows)

    def take(self, packed: torch.Tensor) -> torch.Tensor:
        return packed.index_select(0, self._place)

    def put(self, packed: torch.Tensor, values: torch.Tensor) -> None:
        packed.index_copy_(0, self._place, values)

    def keep(self, state: torch.Tensor, values: torch.Tensor) -> None:
        rows = values.shape[0]
        state[:rows] = torch.where(self._live, values, state[:rows])
