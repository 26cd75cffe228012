"""
The biLM's tensors under the names that `allennlp.modules.elmo.Elmo` gives them in its state dict.

Everything but the highway layers only changes its name. AllenNLP's highway gates the input where the paper's gates the
candidate, and keeps both parts in one linear layer: candidate on top, gate below with the opposite sign.
"""

import re
from typing import Dict, Iterable, Mapping, Optional, Tuple

import torch

from elmo_plugin.engine.errors import WeightFileError

# Where the biLM sits inside `Elmo`; the mixes (`scalar_mix_k.*`) sit beside it.
BILM_PREFIX = "_elmo_lstm."

_ENCODER = BILM_PREFIX + "_token_embedder."
_LSTM = BILM_PREFIX + "_elmo_lstm."

# Word vectors computed from the other tensors, for `vocab_to_cache`
_CACHE = BILM_PREFIX + "_word_embedding."

# Engine name beside AllenNLP's. {d} is a direction, {i} an index, {k} weight or bias.
_NAMES = (
    ("token_encoder.char_embedding", _ENCODER + "_char_embedding_weights"),
    ("token_encoder.convolutions.{i}.{k}", _ENCODER + "char_conv_{i}.{k}"),
    ("token_encoder.projection.{k}", _ENCODER + "_projection.{k}"),
    ("lstm.{d}_layers.{i}.input_weight", _LSTM + "{d}_layer_{i}.input_linearity.weight"),
    ("lstm.{d}_layers.{i}.recurrent_weight", _LSTM + "{d}_layer_{i}.state_linearity.weight"),
    ("lstm.{d}_layers.{i}.bias", _LSTM + "{d}_layer_{i}.state_linearity.bias"),
    ("lstm.{d}_layers.{i}.projection_weight", _LSTM + "{d}_layer_{i}.state_projection.weight"),
)
_HOLES = {"d": "forward|backward", "i": r"\d+", "k": "weight|bias"}
_OUR_HIGHWAY = re.compile(r"token_encoder\.highways\.(\d+)\.(candidate|gate)_(weight|bias)")
_THEIR_HIGHWAY = re.compile(re.escape(_ENCODER) + r"_highways\._layers\.(\d+)\.(weight|bias)")

# What AllenNLP has no place for. The residual serves only the bit-exact export; see forget_bias.py.
_OURS_ALONE = re.compile(r"lstm\.(forward|backward)_layers\.\d+\.forget_residual|warm\.(hidden|cell)")


def to_allennlp(tensors: Mapping[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    """
    Rename the engine's tensors to the state dict of AllenNLP's `Elmo`.

    # Parameters

    tensors : the engine's names; highway layers must be complete, anything else may be a part.

    # Returns

    AllenNLP's names, `_elmo_lstm...`. `forget_residual` and `warm.*` have no counterpart and are left out.

    # Raises

    `WeightFileError` for a name that AllenNLP's character biLM does not have, such as a word embedding.
    """
    state: Dict[str, torch.Tensor] = {}
    unknown = []
    for name, tensor in tensors.items():
        highway = _OUR_HIGHWAY.fullmatch(name)
        renamed = _rename(name, _NAMES)
        if highway is not None:
            _, part, kind = highway.groups()
            if part == "candidate":
                gate = tensors[name.replace("candidate", "gate")]
                # -g, because sigmoid(-g) = 1 - sigmoid(g)
                state[f"{_ENCODER}_highways._layers.{highway[1]}.{kind}"] = torch.cat([tensor, -gate])
        elif renamed is not None:
            state[renamed] = tensor
        elif not _OURS_ALONE.fullmatch(name):
            unknown.append(name)
    _refuse(unknown, "AllenNLP's Elmo has no tensor for")
    return state


def from_allennlp(state: Mapping[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    """
    Rename the state dict of AllenNLP's `Elmo` to the engine's tensors: the inverse of `to_allennlp`.

    # Parameters

    state : AllenNLP's names. Only those under `_elmo_lstm.` are read; the mixes are the caller's.

    # Returns

    The engine's names. The table of `vocab_to_cache` is computed from the other tensors and left out.

    # Raises

    `WeightFileError` for a name under `_elmo_lstm.` that AllenNLP's `Elmo` does not have.
    """
    tensors: Dict[str, torch.Tensor] = {}
    unknown = []
    for name, tensor in state.items():
        highway = _THEIR_HIGHWAY.fullmatch(name)
        renamed = _rename(name, [(theirs, ours) for ours, theirs in _NAMES])
        if highway is not None:
            candidate, gate = tensor.chunk(2)
            layer, kind = highway.groups()
            tensors[f"token_encoder.highways.{layer}.candidate_{kind}"] = candidate
            tensors[f"token_encoder.highways.{layer}.gate_{kind}"] = -gate
        elif renamed is not None:
            tensors[renamed] = tensor
        elif name.startswith(BILM_PREFIX) and not name.startswith(_CACHE):
            unknown.append(name)
    _refuse(unknown, "not a tensor of AllenNLP's Elmo:")
    return tensors


def _rename(name: str, names: Iterable[Tuple[str, str]]) -> Optional[str]:
    for old, new in names:
        pattern = re.escape(old)
        for hole, values in _HOLES.items():
            pattern = pattern.replace(re.escape("{" + hole + "}"), f"(?P<{hole}>{values})")
        match = re.fullmatch(pattern, name)
        if match is not None:
            return new.format(**match.groupdict())
    return None


def _refuse(names: Iterable[str], what: str) -> None:
    names = sorted(names)
    if names:
        raise WeightFileError(f"{what} {', '.join(names)}. Check that the tensors come from a character-level biLM.")
