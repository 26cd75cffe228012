"""Do two ways of computing the same vectors agree? No speed is shown for one that does not."""

import math
from dataclasses import dataclass
from typing import Dict, Optional

import torch

#: For each way to round, by the name that `Backend.rounding` gives it, the largest error that is allowed, relative to
#: the largest expected value where that is above 1. For the last three that is a little more than the largest that was
#: found: 5e-4, 0.02 and, with the builtin weights, 0.07 (benchmarks/results/precision.md).
TOLERANCE: Dict[str, float] = {
    "float32": 1e-5,
    "float64": 1e-12,
    "float16": 2e-3,
    "int8 of compiled": 0.04,
    "int8 of cpu": 0.1,
}


@dataclass(frozen=True)
class Agreement:
    """
    How far outputs are from what was expected.

    # Parameters

    error : the largest over layers and batches; infinite where something is not a number or has another shape.
    tolerance : what is allowed; None where the function is known to be another one.
    """

    error: float
    tolerance: Optional[float]

    @property
    def is_refused(self) -> bool:
        """Whether no speed may be shown."""
        return self.tolerance is not None and not self.error <= self.tolerance


def tolerance(actual: str, expected: str) -> float:
    """What two computations may differ by that round in these ways: the coarser one decides."""
    return max(TOLERANCE[actual], TOLERANCE[expected])


def error(actual: torch.Tensor, expected: torch.Tensor, mask: torch.Tensor) -> float:
    """
    Return the largest difference.

    # Parameters

    actual, expected : `(num_layers, batch, words, dim)`; each layer is taken relative to its own largest value.
    mask : `(batch, words)`, bool: where the words are. Padding is not compared.
    """
    if actual.shape != expected.shape:
        return math.inf
    mask = mask.to(expected.device)
    worst = 0.0
    for one, other in zip(actual, expected):
        one, other = one.to(other.device)[mask].double(), other[mask].double()
        if not one.numel():
            continue
        found = float((one - other).abs().max() / other.abs().max().clamp(min=1.0))
        worst = max(worst, math.inf if math.isnan(found) else found)
    return worst
