"""A layer in one direction without gradients: a product for the inputs of many steps, then these steps in one call."""

from typing import NamedTuple, Optional

import torch

from elmo_plugin.engine.backends.base import FLOAT16, INT8, Clips, LstmJob, LstmResult, LstmWeights
from elmo_plugin.engine.backends.compiled import library
from elmo_plugin.engine.backends.compiled.int8 import Int8Panels, Int8Product
from elmo_plugin.engine.backends.cpu.inference import blocks_of_steps
from elmo_plugin.engine.backends.cpu.products import Float16Product, Product, check_float16
from elmo_plugin.engine.packing import Packing


class PlainProduct(Product):
    """
    The product of many rows and a weight as it is.

    # Parameters

    weight : `(outputs, inputs)`, float32, contiguous.
    """

    def __init__(self, weight: torch.Tensor) -> None:
        self._weight = weight

    def into(self, x: torch.Tensor, out: torch.Tensor) -> None:
        self.add_to(x, out.zero_())

    def add_to(self, x: torch.Tensor, out: torch.Tensor) -> None:
        library.add_product(x.contiguous(), self._weight, out)


class Prepared(NamedTuple):
    """
    What is made of a layer's weights once.

    # Parameters

    input : for the rows of many steps at once.
    steps : for those of a step.
    """

    input: Product
    steps: library.StepWeights


def prepare(weights: LstmWeights, precision: str) -> Prepared:
    """
    Lay out float32 weights that will be used many times.

    # Parameters

    weights : of one layer in one direction.
    precision : "float32", "float16" or "int8".

    # Raises

    `OptionsError` where float16 cannot hold a weight.
    """
    if precision == INT8:
        return Prepared(Int8Product(weights.input), Int8Panels(weights))
    if precision == FLOAT16:
        for weight in (weights.recurrent, weights.projection):
            if weight is not None:
                check_float16(weight)
        return Prepared(Float16Product(weights.input), library.Panels(weights, torch.float16))
    return Prepared(PlainProduct(weights.input.contiguous()), library.Panels(weights, torch.float32))


def as_they_are(weights: LstmWeights) -> Optional[Prepared]:
    """
    Take float32 weights for steps of a single row without copying any; None where they do not lie as the kernel reads.

    # Parameters

    weights : of one layer in one direction.
    """
    tensors = (weights.input, weights.recurrent, weights.projection)
    if not all(tensor is None or tensor.is_contiguous() for tensor in tensors):
        return None
    return Prepared(PlainProduct(weights.input), library.Plain(weights))


def infer(job: LstmJob, packing: Packing, clips: Clips, weights: Prepared) -> LstmResult:
    """
    Run a job.

    # Parameters

    weights : what `prepare` or `as_they_are` made of the job's.
    """
    outputs = job.inputs.new_empty((packing.tokens, job.hidden.shape[1]))
    hidden = job.hidden.clone(memory_format=torch.contiguous_format)
    cell = job.cell.clone(memory_format=torch.contiguous_format)
    for block in blocks_of_steps(packing, job.reverse):
        start, end = packing.offsets[min(block)], packing.offsets[max(block) + 1]
        gates = job.weights.bias.expand(end - start, -1).clone()  # (tokens of the block, 4 cells)
        weights.input.add_to(job.inputs[start:end], gates)
        starts = [packing.offsets[step] - start for step in block]
        sizes = [packing.sizes[step] for step in block]
        library.run_steps(weights.steps, clips, starts, sizes, gates, outputs[start:end], hidden, cell)
    return LstmResult(outputs=outputs, hidden=hidden, cell=cell)
