"""The backends of the LSTM stack by name, and the one place that prefers one to another."""

import logging
from typing import Dict, List

import torch

from elmo_plugin.engine.backends.base import Backend, Clips, LstmJob, LstmResult, LstmWeights
from elmo_plugin.engine.backends.cpu import CpuBackend
from elmo_plugin.engine.backends.cuda import CudaBackend
from elmo_plugin.engine.backends.reference import ReferenceBackend
from elmo_plugin.engine.errors import BackendUnavailableError

logger = logging.getLogger(__name__)

AUTO = "auto"

_BACKENDS: Dict[str, Backend] = {backend.name: backend for backend in (CpuBackend(), CudaBackend(), ReferenceBackend())}


def names() -> List[str]:
    """The names of all backends, whether they can run here or not."""
    return sorted(_BACKENDS)


def get(name: str) -> Backend:
    """
    Return the backend of that name.

    # Raises

    `BackendUnavailableError` where there is no such backend or where it cannot run on this machine.
    """
    if name not in _BACKENDS:
        raise BackendUnavailableError(f"unknown backend {name!r}; choose one of {[AUTO] + names()}.")
    backend = _BACKENDS[name]
    reason = backend.unavailable_reason()
    if reason is not None:
        raise BackendUnavailableError(f"backend {name!r} cannot run here: {reason}")
    return backend


def choose(device: torch.device) -> Backend:
    """Return the preferred backend for tensors on `device`."""
    backend = _BACKENDS[device.type if device.type in ("cpu", "cuda") else "reference"]
    logger.info("backend %r for tensors on %s", backend.name, device)
    return backend


__all__ = ["AUTO", "Backend", "Clips", "LstmJob", "LstmResult", "LstmWeights", "choose", "get", "names"]
