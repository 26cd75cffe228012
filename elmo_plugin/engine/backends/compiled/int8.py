"""
Weights rounded to int8 for the compiled kernels: a scale for each output.

The kernels round the inputs of a product to 16 bits with a scale for each row, so that a row does not depend on the
others, and what remains of the error is that of the weights.
"""

from typing import List, NamedTuple, Optional

import torch

from elmo_plugin.engine.backends.base import LstmWeights
from elmo_plugin.engine.backends.compiled import library
from elmo_plugin.engine.backends.cpu.products import Product

# The largest number of a rounded weight.
_LARGEST = 127

# A row of smaller numbers has this scale: that of a row of zeros would have no inverse.
_LEAST_SCALE = torch.finfo(torch.float32).tiny


class Rounded(NamedTuple):
    """
    A rounded weight.

    # Parameters

    panels : `(groups, pairs of inputs, 16, 2)`, int8, filled up with zeros.
    scales : `(16 * groups,)`, float32: what the numbers of an output are to be multiplied with.
    """

    panels: torch.Tensor
    scales: torch.Tensor


def rounded(weight: torch.Tensor) -> Rounded:
    """Round a weight, `(outputs, inputs)`, and lay it out."""
    outputs, inputs = weight.shape
    scales = (weight.abs().amax(dim=1) / _LARGEST).clamp(min=_LEAST_SCALE)
    numbers = weight.new_zeros(outputs + -outputs % library.PANEL, inputs + inputs % 2)
    numbers[:outputs, :inputs] = torch.round(weight / scales[:, None])
    panels = numbers.view(-1, library.PANEL, numbers.shape[1] // 2, 2).transpose(1, 2)
    padded = torch.cat([scales, scales.new_zeros(len(numbers) - outputs)])
    return Rounded(panels.to(torch.int8).contiguous(), padded)


def _room(rows: int, inputs: int) -> List[torch.Tensor]:
    """Where a kernel keeps the rounded inputs of a product, and their scales."""
    return [torch.empty(rows * (inputs + inputs % 2), dtype=torch.int16), torch.empty(rows, dtype=torch.float32)]


class Int8Panels(library.StepWeights):
    """
    The weights of the steps of one layer in one direction, rounded.

    # Parameters

    weights : float32.
    """

    kernel = "elmo_steps_int8"

    def __init__(self, weights: LstmWeights) -> None:
        self._recurrent = rounded(weights.recurrent)
        self._projection = None if weights.projection is None else rounded(weights.projection)
        self._widest = max(weights.recurrent.shape[1], weights.recurrent.shape[0] // 4)

    def tensors(self, rows: int) -> List[Optional[torch.Tensor]]:
        projection = (None, None) if self._projection is None else self._projection
        return [*self._recurrent, *projection, *_room(rows, self._widest)]


class Int8Product(Product):
    """
    The product of many rows and one rounded weight.

    # Parameters

    weight : `(outputs, inputs)`, float32.
    """

    def __init__(self, weight: torch.Tensor) -> None:
        self._weight = rounded(weight)

    def into(self, x: torch.Tensor, out: torch.Tensor) -> None:
        self.add_to(x, out.zero_())

    def add_to(self, x: torch.Tensor, out: torch.Tensor) -> None:
        kernels = library.load()
        assert kernels is not None and out.is_contiguous() and out.dtype == torch.float32
        x = x.contiguous()
        (rows, inputs), (panels, scales) = x.shape, self._weight
        numbers, row_scales = _room(rows, inputs)
        kernels.elmo_add_int8(
            x.data_ptr(),
            rows,
            inputs,
            panels.data_ptr(),
            scales.data_ptr(),
            out.shape[1],
            numbers.data_ptr(),
            row_scales.data_ptr(),
            out.data_ptr(),
        )
