"""What a biLM's layers depend on beside the sentence, in a few bytes: weights, options, dtype and state policy."""

import hashlib
import json
import sys
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.evidence import Derived

_BYTES_AT_ONCE = 1 << 26


def fingerprint(bilm: BiLm, words: Optional[Sequence[str]] = None) -> bytes:
    """
    Compute the fingerprint of a biLM from the content of all its tensors.

    The backend is no part of it, because all backends give the same numbers within one tolerance; but with precision
    "int8", where they do not.

    # Parameters

    words : those that a biLM knows by name, in the order of its table, where the fingerprint is to stand for what
        becomes of text; without them it stands for what becomes of ids. Others know no words.

    # Returns

    32 bytes.
    """
    settings = _settings(bilm)
    if words is not None and bilm.options.needs_vocabulary:
        settings["words"] = list(words)
    digest = hashlib.blake2b(digest_size=32)
    digest.update(json.dumps(settings, sort_keys=True).encode("utf-8"))
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
    settings = {
        "format": 1,
        "byteorder": sys.byteorder,
        "lstm": options["lstm"],
        "char_cnn": options.get("char_cnn"),
        "state": bilm.state,
        "precision": _rounding(bilm),
    }
    if "lexicon" in options:
        settings["lexicon"] = options["lexicon"]
    return settings


def _rounding(bilm: BiLm) -> str:
    return bilm.lstm.backend_for(bilm.token_encoder.boundaries.device).rounding(bilm.precision)


def _tensors(bilm: BiLm) -> Iterator[Tuple[str, torch.Tensor]]:
    yield from bilm.named_parameters()
    for name, buffer in bilm.named_buffers():
        if not name.endswith("forget_residual"):  # takes no part in any computation
            yield name, buffer
