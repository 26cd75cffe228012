"""
The LSTM stack on NVIDIA GPUs.

The input products of many steps are one product for each layer and direction. The steps themselves, which are launch
after launch of little work, are captured graphs, and two or three Triton kernels each; both directions run side by
side. `configure` changes settings of the process, `release` gives memory back.
"""

from typing import Any

from elmo_plugin.engine.backends.cuda.backend import CudaBackend, runtime
from elmo_plugin.engine.backends.cuda.settings import CudaSettings


def configure(**changes: Any) -> CudaSettings:
    """
    Change settings of the process.

    # Parameters

    changes : fields of `CudaSettings`.

    # Returns

    All settings as they are now.
    """
    return runtime.configure(**changes)


def release() -> None:
    """Give the memory of workspaces and graphs back to PyTorch; the next call makes them anew."""
    runtime.release()


__all__ = ["CudaBackend", "CudaSettings", "configure", "release"]
