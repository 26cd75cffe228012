"""What the shapes of a biLM's tensors say about its options, and what they do not say."""

import re
from typing import Any, Dict, List, Mapping

from elmo_plugin.engine.characters import NUM_CHARACTER_IDS
from elmo_plugin.engine.tensor_table import Shape

#: options that change the vectors and leave no trace in the shapes
LSTM_ONLY_IN_OPTIONS = ("lstm.use_skip_connections", "lstm.cell_clip", "lstm.proj_clip")
CNN_ONLY_IN_OPTIONS = ("char_cnn.activation", "char_cnn.max_characters_per_token")


def draft_options(shapes: Mapping[str, Shape]) -> Dict[str, Any]:
    """
    Write as much of an options.json as the shapes tell.

    # Parameters

    shapes : dataset of the hdf5 layout to shape.

    # Returns

    The keys that are known, as in options.json.
    """
    draft: Dict[str, Any] = {"lstm": _lstm(shapes)}
    if "char_embed" in shapes:
        draft["char_cnn"] = _char_cnn(shapes)
    words = _sides(shapes, r"embedding|softmax/W", 0)
    if words:
        draft["n_tokens_vocab"] = words[0]
    return draft


def missing_options(draft: Mapping[str, Any]) -> List[str]:
    """List the keys that a draft needs to become an options.json, and that only its author knows."""
    return [*LSTM_ONLY_IN_OPTIONS, *(CNN_ONLY_IN_OPTIONS if "char_cnn" in draft else ())]


def _lstm(shapes: Mapping[str, Shape]) -> Dict[str, int]:
    biases = _sides(shapes, r"RNN_0/.*/B", 0)
    rows = _sides(shapes, r"RNN_0/.*/W_0", 0)
    lstm = {"n_layers": len(biases)}
    if biases and rows:
        lstm.update(dim=biases[0] // 4, projection_dim=rows[0] // 2)
    return lstm


def _char_cnn(shapes: Mapping[str, Shape]) -> Dict[str, Any]:
    kernels = r"CNN/W_cnn_\d+"
    filters = zip(_sides(shapes, kernels, 1), _sides(shapes, kernels, 3))
    width = _sides(shapes, "char_embed", 1)
    return {
        "embedding": {"dim": width[0]} if width else {},
        "filters": [list(pair) for pair in filters],
        "n_highway": len(_sides(shapes, r"CNN_high_\d+/b_carry", 0)),
        "n_characters": NUM_CHARACTER_IDS,
    }


def _sides(shapes: Mapping[str, Shape], pattern: str, axis: int) -> List[int]:
    """One side of each tensor of these names that has so many, in the order of the numbers in the names."""
    found = [name for name in shapes if re.fullmatch(pattern, name) and len(shapes[name]) > axis]
    return [shapes[name][axis] for name in sorted(found, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])]
