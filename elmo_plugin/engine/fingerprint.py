"""What a biLM's layers depend on beside the words, in a few bytes: weights, options, dtype and state policy."""

import hashlib
import json
import sys
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.bilm import BiLm

# Enough to notice any training step, cheap enough for every call.
_SAMPLES_PER_TENSOR = 64

_BYTES_AT_ONCE = 1 << 26


def fingerprint(bilm: BiLm) -> bytes:
    """
    Compute the fingerprint of a biLM from the content of all its tensors.

    The backend is no part of it: all backends give the same numbers within one tolerance.

    # Returns

    32 bytes.
    """
    digest = hashlib.blake2b(digest_size=32)
    digest.update(json.dumps(_settings(bilm), sort_keys=True).encode("utf-8"))
    for name, tensor in _tensors(bilm):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        flat = tensor.detach().reshape(-1)
        for piece in flat.split(max(1, _BYTES_AT_ONCE // flat.element_size())):
            digest.update(memoryview(piece.cpu().contiguous().view(torch.uint8).numpy()))
    return digest.digest()


class Fingerprint:
    """
    The fingerprint of a biLM, computed again only when the biLM may have changed.

    A change is noticed by PyTorch's counters of writes, by the place of the tensors in memory and, because writing
    through `.data` shows in neither, by the values at some places of each tensor.
    """

    def __init__(self) -> None:
        self._evidence: Optional[Tuple[Any, ...]] = None
        self._samples: Optional[torch.Tensor] = None
        self._value = b""

    def of(self, bilm: BiLm) -> bytes:
        """Return `fingerprint(bilm)`."""
        tensors = [tensor for _, tensor in _tensors(bilm)]
        evidence = (bilm.options, bilm.state, _precision(bilm)) + evidence_of(tensors)
        samples = samples_of(tensors)
        if evidence != self._evidence or self._samples is None or not torch.equal(samples, self._samples):
            self._value = fingerprint(bilm)
            self._evidence, self._samples = evidence, samples
        return self._value


def _settings(bilm: BiLm) -> Dict[str, Any]:
    options = bilm.options.to_dict()
    return {
        "format": 1,
        "byteorder": sys.byteorder,
        "lstm": options["lstm"],
        "char_cnn": options.get("char_cnn"),
        "state": bilm.state,
        "precision": _precision(bilm),
    }


def _precision(bilm: BiLm) -> Optional[str]:
    """What else decides the numbers, beside the dtype of the tensors."""
    precision = getattr(bilm, "precision", None)
    return None if precision is None else str(precision)


def _tensors(bilm: BiLm) -> Iterator[Tuple[str, torch.Tensor]]:
    yield from bilm.named_parameters()
    for name, buffer in bilm.named_buffers():
        if not name.endswith("forget_residual"):  # takes no part in any computation
            yield name, buffer


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
