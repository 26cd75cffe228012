"""
How far apart two ways of computing the same numbers may be: one table for all tests of the engine.

Every entry is an absolute error on tensors whose largest value is about 1; where an expected tensor has larger values
the error is taken relative to the largest one. Each entry says which largest error was seen when it was set.
"""

import torch

# One LSTM layer, a backend against the reference in the same dtype: outputs, states and all gradients. Seen over
# 3,000 drawn cases: 4e-6 and 1e-15, in gradients with respect to biases.
BACKEND = {torch.float32: 1e-5, torch.float64: 1e-13}

# All layers of a biLM against AllenNLP (there absolute, however large the values) or the plain equations, carried
# state included. Promised to users; seen for tiny and full-size models over some hundred batches of up to 200 words:
# 2e-6 and 3e-15.
LAYERS = {torch.float32: 1e-5, torch.float64: 1e-12}

# Gradients of a biLM's parameters against AllenNLP's, relative to the largest gradient of the tensor. Seen: 2e-6
# and 1e-14.
GRADIENTS = {torch.float32: 2e-5, torch.float64: 1e-12}


def error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference, relative to the largest expected value where that is above 1; NaN nowhere allowed."""
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    if not expected.numel():
        return 0.0
    actual, expected = actual.detach().double(), expected.detach().double()
    difference = (actual - expected).abs().max()
    assert not difference.isnan(), "not a number"
    return float(difference / expected.abs().max().clamp(min=1.0))


def assert_close(actual: torch.Tensor, expected: torch.Tensor, tolerance: float, what: str = "tensor") -> None:
    """Compare shapes and values."""
    found = error(actual, expected)
    assert found <= tolerance, f"{what}: error {found:.2e}, allowed {tolerance:.0e}"
