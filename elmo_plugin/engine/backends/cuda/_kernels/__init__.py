"""Triton sources of the cuda backend; imported inside functions, only where Triton is installed."""
