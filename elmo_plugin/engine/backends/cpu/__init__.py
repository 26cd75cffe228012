"""
The LSTM stack for CPUs in plain PyTorch: no work on padding, one product for the inputs of many steps, weights prepared
once for the products of a step, no autograd graph per step.
"""

from elmo_plugin.engine.backends.cpu.backend import CpuBackend

__all__ = ["CpuBackend"]
