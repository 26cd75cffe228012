"""What tells, without reading them whole, that tensors are no longer what they were."""

from typing import Any, Callable, Dict, Generic, NamedTuple, Optional, Sequence, Tuple, TypeVar

import torch

T = TypeVar("T")

# Enough to notice any training step, cheap enough for every call.
_SAMPLES_PER_TENSOR = 64


def evidence_of(tensors: Sequence[torch.Tensor]) -> Tuple[Any, ...]:
    """Return what changes when the tensors are replaced, moved, or written to otherwise than through `.data`."""
    return tuple(
        (
            -1 if tensor.is_inference() else tensor._version,
            tensor.data_ptr(),
            tensor.dtype,
            tensor.device,
            tensor.shape,
            tensor.stride(),
        )
        for tensor in tensors
    )


def samples_of(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the values at some places of each tensor: enough to notice what was written through `.data`."""
    flat = [tensor.detach().reshape(-1) for tensor in tensors]
    return torch.cat([values[:: max(1, values.numel() // _SAMPLES_PER_TENSOR)] for values in flat])


class _Held(NamedTuple):
    evidence: Tuple[Any, ...]
    samples: torch.Tensor
    value: Any


class Derived(Generic[T]):
    """
    Something that was made of tensors, and is made again when they have changed.

    A change is noticed by PyTorch's counters of writes, by the place of the tensors in memory and, because writing
    through `.data` shows in neither, by the values at some places of each tensor. Copies and pickles are empty. Threads
    may share one; at worst the value is made twice.
    """

    def __init__(self) -> None:
        self._held: Optional[_Held] = None

    def __getstate__(self) -> Dict[str, Any]:
        return {"_held": None}

    def get(self, make: Callable[[], T], tensors: Sequence[torch.Tensor], *settings: Any) -> T:
        """
        Return the value, made now or earlier.

        # Parameters

        make : makes it.
        tensors : what it is made of; at least one, all on one device.
        settings : what else it depends on.
        """
        evidence, samples = (settings, *evidence_of(tensors)), samples_of(tensors)
        held = self._held
        if held is None or held.evidence != evidence or not torch.equal(held.samples, samples):
            held = self._held = _Held(evidence, samples, make())
        return held.value
