"""What the steps of one direction read and write."""

from dataclasses import dataclass
from typing import Dict, Optional

import torch

from elmo_plugin.engine.backends.base import LstmWeights
from elmo_plugin.engine.backends.cuda.precision import CELL_DTYPES


@dataclass(frozen=True)
class LayerShape:
    """
    What decides how large things are.

    # Parameters

    cells : of one direction.
    width : of its output.
    dtype : of its weights.
    """

    cells: int
    width: int
    dtype: torch.dtype

    @staticmethod
    def of(weights: LstmWeights) -> "LayerShape":
        """The shape of a layer with these weights."""
        gates, width = weights.recurrent.shape
        return LayerShape(cells=gates // 4, width=width, dtype=weights.recurrent.dtype)

    @property
    def cell_dtype(self) -> torch.dtype:
        """The dtype of the cell state."""
        return CELL_DTYPES[self.dtype]


@dataclass(frozen=True)
class Memory:
    """
    The tensors of one direction of a layer, all contiguous.

    # Parameters

    shape : of the layer.
    inputs : `(tokens or more, 4 cells)`, input products with bias; where steps are recorded, the gates behind their
        functions take their place.
    hidden : `(rows or more, width)`, the state, changed by each step.
    cell : `(rows or more, cells)`, likewise, in the dtype of cell states.
    outputs : `(tokens or more, width)`.
    schedule : `(steps or more, 2)` int64, see `Span.table`.
    scratch : what the steps need for themselves, see `Steps.scratch`.
    recorded_cell : `(tokens, cells)`, the clipped cell state of every token; None where nothing is recorded.
    """

    shape: LayerShape
    inputs: torch.Tensor
    hidden: torch.Tensor
    cell: torch.Tensor
    outputs: torch.Tensor
    schedule: torch.Tensor
    scratch: Dict[str, torch.Tensor]
    recorded_cell: Optional[torch.Tensor] = None
