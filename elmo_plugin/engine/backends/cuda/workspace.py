"""Fixed memory for the steps of one layer shape, in both directions, and the graphs that know its addresses."""

from typing import List

import torch

from elmo_plugin.engine.backends.cuda.graphs import GraphCache
from elmo_plugin.engine.backends.cuda.memory import LayerShape, Memory
from elmo_plugin.engine.backends.cuda.schedule import LONGEST_PIECE
from elmo_plugin.engine.backends.cuda.steps import Steps


class Workspace:
    """
    Memory for blocks of steps.

    # Parameters

    shape : of the layers that run in it.
    directions : layers side by side.
    rows, tokens : of a block at most; beyond the tokens there is a place for each row that is not running.
    steps : who works in it.
    graphs : of this workspace alone.
    device : where.
    """

    def __init__(
        self,
        shape: LayerShape,
        directions: int,
        rows: int,
        tokens: int,
        steps: Steps,
        graphs: GraphCache,
        device: torch.device,
    ) -> None:
        self.rows = rows
        self.tokens = tokens
        self.graphs = graphs

        def zeros(*sizes: int, dtype: torch.dtype = shape.dtype) -> torch.Tensor:
            return torch.zeros(sizes, dtype=dtype, device=device)

        # Tensors made in inference mode could not be changed outside of it later.
        with torch.inference_mode(False):
            #: `(directions, steps, 2)` int64, see `Span.table`
            self.schedules = zeros(directions, LONGEST_PIECE, 2, dtype=torch.int64)
            self.memories: List[Memory] = [
                Memory(
                    shape=shape,
                    inputs=zeros(tokens + rows, 4 * shape.cells),
                    hidden=zeros(rows, shape.width),
                    cell=zeros(rows, shape.cells, dtype=shape.cell_dtype),
                    outputs=zeros(tokens + rows, shape.width),
                    schedule=self.schedules[direction],
                    scratch=steps.scratch(shape, rows, device),
                )
                for direction in range(directions)
            ]
