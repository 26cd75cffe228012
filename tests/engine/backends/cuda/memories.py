"""One direction of a layer in memory of its own, full of what must not be read."""

from typing import Dict, Optional

import torch

from elmo_plugin.engine.backends.base import LstmWeights
from elmo_plugin.engine.backends.cuda.memory import LayerShape, Memory
from elmo_plugin.engine.backends.cuda.schedule import Span
from elmo_plugin.engine.backends.cuda.steps import Steps, TorchSteps
from elmo_plugin.engine.packing import Packing

#: rows, and rows that there is room for
LENGTHS, ROWS = [4, 1, 3], 5

#: of the layer
CELLS, WIDTH = 6, 4


def _multiplies(dtype: torch.dtype) -> bool:
    try:
        torch.mm(torch.ones(1, 1, dtype=dtype), torch.ones(1, 1, dtype=dtype))
    except RuntimeError:
        return False
    return True


#: what this PyTorch multiplies on a CPU: older ones no float16
HALF = [dtype for dtype in (torch.float16, torch.bfloat16) if _multiplies(dtype)]


def layer(
    projection: bool = True,
    cells: int = CELLS,
    width: int = WIDTH,
    dtype: torch.dtype = torch.float64,
) -> LstmWeights:
    """Draw recurrent weights; those of the inputs are not used here."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> torch.Tensor:
        return (torch.randn(shape, generator=generator) * shape[-1] ** -0.5).to(dtype)

    outputs = width if projection else cells
    return LstmWeights(
        input=draw(4 * cells, 1),
        recurrent=draw(4 * cells, outputs),
        bias=draw(4 * cells),
        projection=draw(outputs, cells) if projection else None,
    )


def filled(
    weights: LstmWeights,
    span: Span,
    dtype: torch.dtype = torch.float64,
    steps: Optional[Steps] = None,
    records: bool = False,
    rows: int = ROWS,
) -> Memory:
    """Draw inputs and states for the rows of a span that begins with step 0; everything else is not a number."""
    shape = LayerShape.of(weights)
    generator = torch.Generator().manual_seed(2)
    running = max(span.sizes)

    def poisoned(first: int, columns: int, *, used: int, dtype: torch.dtype) -> torch.Tensor:
        made = torch.full((first, columns), float("nan"), dtype=dtype)
        made[:used] = torch.randn((used, columns), generator=generator).to(dtype)
        return made

    device = torch.device("cpu")
    return Memory(
        shape=shape,
        inputs=poisoned(span.tokens + rows, 4 * shape.cells, used=span.tokens, dtype=dtype),
        hidden=poisoned(rows, shape.width, used=running, dtype=dtype),
        cell=poisoned(rows, shape.cells, used=running, dtype=shape.cell_dtype),
        outputs=poisoned(span.tokens + rows, shape.width, used=0, dtype=dtype),
        schedule=span.table(),
        scratch={
            name: tensor.fill_(float("nan"))
            for name, tensor in (steps or TorchSteps()).scratch(shape, rows, device).items()
        },
        recorded_cell=poisoned(span.tokens + rows, shape.cells, used=0, dtype=shape.cell_dtype) if records else None,
    )


def results(memory: Memory, packing: Packing) -> Dict[str, torch.Tensor]:
    """What the steps left behind, without the places that nobody reads."""
    found = {
        "outputs": memory.outputs[: packing.tokens],
        "hidden": memory.hidden[: packing.rows],
        "cell": memory.cell[: packing.rows],
    }
    if memory.recorded_cell is not None:
        found.update(gates=memory.inputs[: packing.tokens], recorded=memory.recorded_cell[: packing.tokens])
    return found
