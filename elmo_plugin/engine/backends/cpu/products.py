"""
Products with a fixed weight, in the form that is fast for the few rows of a time step.

A plain product packs its weight anew in each step, which takes longer than the arithmetic. What is prepared here once:

- a transposed copy, for small weights, which needs no packing;
- the weight as oneDNN packs it, for weights that fill more than a core's cache;
- float16 or int8, as FBGEMM packs it, where the caller has asked for fewer digits.

oneDNN's packing has no public door in PyTorch. It is tried once, and where it is missing or its products are not right
the transposed copy is taken for all weights.
"""

import warnings
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, List, NamedTuple, Optional

import torch

from elmo_plugin.engine.backends.base import FLOAT16, FLOAT32, INT8, LstmWeights
from elmo_plugin.engine.errors import OptionsError

#: Weights of this many numbers are packed by oneDNN; 4 MiB in float32.
MIN_PACKED = 1 << 20

#: With fewer rows a packed weight is no faster than the weight itself.
MIN_PACKED_ROWS = 4

# For how many rows oneDNN is asked to pack. The packing serves any number of them.
_PACKED_FOR_ROWS = 32


class Product(ABC):
    """Multiply rows by one weight: `x @ weight.t()`."""

    @abstractmethod
    def into(self, x: torch.Tensor, out: torch.Tensor) -> None:
        """Write the product of `(rows, inputs)` into `(rows, outputs)`."""

    @abstractmethod
    def add_to(self, x: torch.Tensor, out: torch.Tensor) -> None:
        """Add the product to `out`."""


class DenseProduct(Product):
    """`right` is the transposed weight, `(inputs, outputs)`: a view of the weight, or a copy."""

    def __init__(self, right: torch.Tensor) -> None:
        self._right = right

    def into(self, x: torch.Tensor, out: torch.Tensor) -> None:
        torch.mm(x, self._right, out=out)

    def add_to(self, x: torch.Tensor, out: torch.Tensor) -> None:
        out.addmm_(x, self._right)


class _NewTensorProduct(Product):
    """By an operator that takes no tensor to write to."""

    @abstractmethod
    def _multiply(self, x: torch.Tensor) -> torch.Tensor: ...

    def into(self, x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(self._multiply(x))

    def add_to(self, x: torch.Tensor, out: torch.Tensor) -> None:
        out.add_(self._multiply(x))


class PackedProduct(_NewTensorProduct):
    """By oneDNN; by the weight itself for a row or two."""

    def __init__(self, weight: torch.Tensor) -> None:
        self._few = DenseProduct(weight.t())
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _PACKED_FOR_ROWS)

    def _multiply(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, None, "none", [], "")

    def into(self, x: torch.Tensor, out: torch.Tensor) -> None:
        (self._few.into if len(x) < MIN_PACKED_ROWS else super().into)(x, out)

    def add_to(self, x: torch.Tensor, out: torch.Tensor) -> None:
        (self._few.add_to if len(x) < MIN_PACKED_ROWS else super().add_to)(x, out)


def check_float16(weight: torch.Tensor) -> None:
    """Raise `OptionsError` where float16 cannot hold a weight: FBGEMM would take its largest number instead."""
    if not bool(weight.half().isfinite().all()):
        raise OptionsError(
            f"precision {FLOAT16!r} was asked for, but a weight of the LSTMs is beyond 65504, the largest number of "
            f"float16, or is no number. Use precision {FLOAT32!r}, or check the weights."
        )


class Float16Product(_NewTensorProduct):
    """Weights rounded to float16; inputs and sums in float32."""

    def __init__(self, weight: torch.Tensor) -> None:
        check_float16(weight)
        self._packed = torch.ops.quantized.linear_prepack_fp16(weight.contiguous(), None)

    def _multiply(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized.linear_dynamic_fp16(x.contiguous(), self._packed)


class Int8Product(_NewTensorProduct):
    """Weights rounded to int8, a scale for each output; inputs to 7 bits, a scale for all rows of a call."""

    def __init__(self, weight: torch.Tensor) -> None:
        scales = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny).double()
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        with warnings.catch_warnings():
            # PyTorch announces the end of its quantised tensors. Once they are gone, int8 is refused.
            warnings.simplefilter("ignore")
            rounded = torch.quantize_per_channel(weight.contiguous(), scales, zeros, 0, torch.qint8)
        self._packed = torch.ops.quantized.linear_prepack(rounded, None)

    def _multiply(self, x: torch.Tensor) -> torch.Tensor:
        # With 8 bits processors without VNNI would saturate.
        product = torch.ops.quantized.linear_dynamic(x.contiguous(), self._packed, reduce_range=True)
        # FBGEMM takes what is no number for some number. The sums here are zero, or no number either.
        return product.add_((x - x).sum(dim=1, keepdim=True))


class Products(NamedTuple):
    """
    The products of one layer in one direction.

    # Parameters

    input : for many rows at once.
    recurrent : for the rows of a step.
    projection : likewise; None where there is none.
    """

    input: Product
    recurrent: Product
    projection: Optional[Product]


def plain_products(weights: LstmWeights) -> Products:
    """Take the weights as they are."""
    projection = None if weights.projection is None else DenseProduct(weights.projection.t())
    return Products(DenseProduct(weights.input.t()), DenseProduct(weights.recurrent.t()), projection)


def prepare(weights: LstmWeights, precision: str) -> Products:
    """
    Make the products of float32 weights that will be used many times.

    # Parameters

    weights : of one layer in one direction.
    precision : "float32", "float16" or "int8".
    """
    make = {FLOAT32: _exact, FLOAT16: Float16Product, INT8: Int8Product}[precision]
    # Packing the input weight takes no time beside the product of a whole block of steps.
    by_input = DenseProduct(weights.input.t()) if precision == FLOAT32 else make(weights.input)
    projection = None if weights.projection is None else make(weights.projection)
    return Products(by_input, make(weights.recurrent), projection)


def _exact(weight: torch.Tensor) -> Product:
    if weight.numel() >= MIN_PACKED and can_pack():
        return PackedProduct(weight)
    return DenseProduct(weight.t().contiguous())


@lru_cache(maxsize=None)
def can_pack() -> bool:
    """Whether oneDNN's packed products are there and right."""
    return torch.backends.mkldnn.is_available() and _is_right(PackedProduct, tolerance=1e-4)


def unavailable_reason(precision: str) -> Optional[str]:
    """Say why products of a precision cannot be had here; None where they can."""
    if precision == FLOAT32:
        return None
    product, tolerance = {FLOAT16: (Float16Product, 0.02), INT8: (Int8Product, 2.0)}[precision]
    if "fbgemm" not in _engines() or not _is_right(product, tolerance):
        return f"products in {precision} need FBGEMM, which this PyTorch has not for this processor."
    return None


def _engines() -> List[str]:
    return torch.backends.quantized.supported_engines


def _is_right(product: Any, tolerance: float) -> bool:
    """Try a product, few rows and many. Private operators may be missing, or take other arguments."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(48, 64, generator=generator)
    try:
        made = product(weight)
        for rows in (MIN_PACKED_ROWS, 2 * _PACKED_FOR_ROWS):
            x = torch.randn(rows, 64, generator=generator)
            out = torch.empty(rows, 48)
            made.into(x, out)
            if not bool(((out - x @ weight.t()).abs() <= tolerance).all()):
                return False
    except (RuntimeError, AttributeError, TypeError):
        return False
    return True
