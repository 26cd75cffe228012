"""What `elmo_token_embedder` calls its parameters and tensors, for the embedder that takes its place."""

import re
from typing import Any, Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError

from elmo_plugin.formats.allennlp_names import BILM_PREFIX, from_allennlp
from elmo_plugin.formats.record import EXTRA_STATE

_OLD_MIX = re.compile(r"scalar_mix_(\d+)\.(gamma|scalar_parameters\.(\d+))")
_OLD_PREFIX = "_elmo."


def choose(name: str, value: Optional[Any], old_name: str, old_value: Optional[Any], default: Any) -> Any:
    """
    Return the value of a parameter that has an old name too.

    # Raises

    `ConfigurationError` where both are given and differ.
    """
    if value is not None and old_value is not None and value != old_value:
        raise ConfigurationError(
            f'"{name}" is {value!r} and "{old_name}", its old name, is {old_value!r}. Give one of the two.'
        )
    if value is not None:
        return value
    return default if old_value is None else old_value


def rename_old_state(state: Dict[str, Any], prefix: str, record: torch.Tensor) -> None:
    """
    Rename, in place, the tensors of an `elmo_token_embedder` to those of our embedder.

    # Parameters

    state : a state dict; nothing happens where it is not that of an `elmo_token_embedder`.
    prefix : of the embedder in it.
    record : what to add as the record of the biLM.
    """
    start = prefix + _OLD_PREFIX
    if not any(name.startswith(start + BILM_PREFIX) for name in state):
        return
    old = {name[len(start) :]: state.pop(name) for name in list(state) if name.startswith(start)}
    for name, tensor in from_allennlp(old).items():
        state[f"{prefix}elmo.bilm.{name}"] = tensor
        if name.startswith("lstm.") and name.endswith(".bias"):
            # AllenNLP did not keep what rounding took from the bias of the forget gate.
            residual = f"{prefix}elmo.bilm.{name[: -len('bias')]}forget_residual"
            state[residual] = torch.zeros_like(tensor[: len(tensor) // 4])
    weights: Dict[str, Dict[int, torch.Tensor]] = {}
    for name, tensor in old.items():
        match = _OLD_MIX.fullmatch(name)
        if match is not None:
            mix = f"{prefix}elmo.mixes.{match[1]}."
            if match[2] == "gamma":
                state[mix + "gamma"] = tensor
            else:
                weights.setdefault(mix + "weights", {})[int(match[3])] = tensor
    for name, parts in weights.items():
        state[name] = torch.cat([parts[index] for index in sorted(parts)])
    for part in ("weight", "bias"):
        if f"{prefix}_projection.{part}" in state:
            state[f"{prefix}projections.0.{part}"] = state.pop(f"{prefix}_projection.{part}")
    state[prefix + EXTRA_STATE] = record
