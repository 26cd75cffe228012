"""The backends of the LSTM stack by name, and the one place that prefers one to another."""

import logging
from typing import Dict, List

import torch

from elmo_plugin.engine.backends.base import Backend, Clips, LstmJob, LstmResult, LstmWeights
from elmo_plugin.engine.backends.compiled import CompiledBackend
from elmo_plugin.engine.backends.cpu import CpuBackend
from elmo_plugin.engine.backends.cuda import CudaBackend
from elmo_plugin.engine.backends.reference import ReferenceBackend
from elmo_plugin.engine.errors import BackendUnavailableError

logger = logging.getLogger(__name__)

AUTO = "auto"

_BACKENDS: Dict[str, Backend] = {
    backend.name: backend for backend in (CompiledBackend(), CpuBackend(), CudaBackend(), ReferenceBackend())
}

# By the type of the device, best first; the last of a row can always run.
_PREFERRED = {"cpu": ("compiled", "cpu"), "cuda": ("cuda",)}


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
    """Return the preferred backend for tensors on `device`, and log which one it is and why no better one."""
    *better, last = _PREFERRED.get(device.type, ("reference",))
    for name in better:
        reason = _BACKENDS[name].unavailable_reason()
        if reason is None:
            last = name
            break
        logger.info("no backend %r here: %s", name, reason)
    logger.info("backend %r for tensors on %s", last, device)
    return _BACKENDS[last]


__all__ = ["AUTO", "Backend", "Clips", "LstmJob", "LstmResult", "LstmWeights", "choose", "get", "names"]
