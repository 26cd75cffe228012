"""What a biLM's layers depend on beside the words, in a few bytes: weights, options, dtype and state policy."""

import hashlib
import json
import sys
from typing import Any, Dict, Iterator, Tuple

import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.evidence import Derived

_BYTES_AT_ONCE = 1 << 26


def fingerprint(bilm: BiLm) -> bytes:
    """
    Compute the fingerprint of a biLM from the content of all its tensors.

    The backend is no part of it, because all backends give the same numbers within one tolerance; but with precision
    "int8", where they do not.

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
    """The fingerprint of a biLM, computed again only when the biLM may have changed; see `Derived`."""

    def __init__(self) -> None:
        self._value: Derived[bytes] = Derived()

    def of(self, bilm: BiLm) -> bytes:
        """Return `fingerprint(bilm)`."""
        tensors = [tensor for _, tensor in _tensors(bilm)]
        return self._value.get(lambda: fingerprint(bilm), tensors, bilm.options, bilm.state, _rounding(bilm))


def _settings(bilm: BiLm) -> Dict[str, Any]:
    options = bilm.options.to_dict()
    return {
        "format": 1,
        "byteorder": sys.byteorder,
        "lstm": options["lstm"],
        "char_cnn": options.get("char_cnn"),
        "state": bilm.state,
        "precision": _rounding(bilm),
    }


def _rounding(bilm: BiLm) -> str:
    return bilm.lstm.backend_for(bilm.token_encoder.boundaries.device).rounding(bilm.precision)


def _tensors(bilm: BiLm) -> Iterator[Tuple[str, torch.Tensor]]:
    yield from bilm.named_parameters()
    for name, buffer in bilm.named_buffers():
        if not name.endswith("forget_residual"):  # takes no part in any computation
            yield name, buffer
