"""
The group `elmo_plugin` of an hdf5 file: what bilm-tf's layout has no place for. Other readers do not look at it.

It is written only when there is something to keep: a vocabulary, a stored state, or a trained forget bias that the
layout cannot express exactly.
"""

import json
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np
import torch

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.engine.json_section import shortened
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.tensor_table import Shape
from elmo_plugin.formats import forget_bias
from elmo_plugin.formats.beside import vocabulary_beside
from elmo_plugin.formats.names import DIRECTIONS, cell_group
from elmo_plugin.formats.weight_set import WeightSet

NAME = "elmo_plugin"
VERSION = 1
#: dataset of the words
VOCABULARY = f"{NAME}/vocabulary"


def shapes(options: BiLmOptions, found: Mapping[str, Shape]) -> Dict[str, Shape]:
    """
    List the datasets that the group may have.

    # Parameters

    options : the architecture.
    found : the datasets of the file; the vocabulary may have any length.
    """
    lstm = options.lstm
    optional: Dict[str, Shape] = {
        f"{NAME}/warm/hidden": (lstm.n_layers, 2 * lstm.projection_dim),
        f"{NAME}/warm/cell": (lstm.n_layers, 2 * lstm.dim),
    }
    if VOCABULARY in found:
        optional[VOCABULARY] = found[VOCABULARY]
    for _, _, name, _ in _cells(options):
        optional[name] = (lstm.dim,)
    return optional


def check_version(file: Any) -> None:
    """Raise `FormatError` where an open file has a group of a newer version."""
    version = file[NAME].attrs.get("format_version", 0) if NAME in file else 0
    if int(version) > VERSION:
        raise FormatError(
            f"{file.filename}: its group {NAME!r} has version {version}, this elmo_plugin knows {VERSION}. "
            "Update elmo_plugin."
        )


def restore(options: BiLmOptions, arrays: Mapping[str, np.ndarray], tensors: Dict[str, torch.Tensor]) -> None:
    """
    Add what the group keeps to the tensors: the stored state, and trained forget biases in all their digits.

    # Parameters

    options : the architecture.
    arrays : what was read from the file.
    tensors : the engine's, changed in place.
    """
    for name in ("hidden", "cell"):
        if f"{NAME}/warm/{name}" in arrays:
            tensors[f"warm.{name}"] = torch.from_numpy(arrays[f"{NAME}/warm/{name}"])
    cells = options.lstm.dim
    for ours, theirs, exact, block in _cells(options):
        if exact in arrays:
            bias = tensors[ours].numpy()
            bias[cells : 2 * cells] = forget_bias.restore(arrays[exact], arrays[theirs][block], bias[cells : 2 * cells])


def vocabulary(path: Union[str, Path], options: BiLmOptions, arrays: Mapping[str, np.ndarray]) -> Optional[List[str]]:
    """
    Find the words of a biLM: in the group, or in a file beside the weights.

    # Parameters

    path : the hdf5 file.
    options : the architecture.
    arrays : what was read from the file.

    # Returns

    The words, None if there are none.

    # Raises

    `FormatError` where the group has something else in their place.
    """
    stored = arrays.get(VOCABULARY)
    if stored is None:
        # the softmax counts the words of the vocabulary too; without it a biLM of characters needs none
        return vocabulary_beside(Path(path)) if options.is_word_level or "softmax/W" in arrays else None
    try:
        words = json.loads(stored.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: dataset '{VOCABULARY}' is not a JSON list of words ({error}).") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise FormatError(f"{path}: dataset '{VOCABULARY}' is {shortened(words)}, expected a list of words.")
    return words


def write(file: Any, weights: WeightSet, arrays: Mapping[str, np.ndarray]) -> None:
    """
    Write the group, where there is something to keep.

    # Parameters

    file : open for writing.
    weights : what is written.
    arrays : the datasets that the file has already.
    """
    content = _content(weights, arrays)
    if content:
        group = file.create_group(NAME)
        group.attrs["format_version"] = VERSION
        for name, array in content.items():
            group.create_dataset(name, data=array)


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    """Return the numbers of a tensor in float32."""
    return tensor.detach().to("cpu", torch.float32).numpy()


def _content(weights: WeightSet, arrays: Mapping[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """What the layout has no place for."""
    extra: Dict[str, np.ndarray] = {}
    if weights.vocabulary is not None:
        extra["vocabulary"] = np.frombuffer(json.dumps(weights.vocabulary).encode("utf-8"), dtype=np.uint8)
    for name in ("hidden", "cell"):
        if f"warm.{name}" in weights.tensors:
            extra[f"warm/{name}"] = as_numpy(weights.tensors[f"warm.{name}"])
    cells = weights.options.lstm.dim
    for ours, theirs, exact, block in _cells(weights.options):
        bias = as_numpy(weights.tensors[ours])[cells : 2 * cells]
        if not forget_bias.is_exact(bias, arrays[theirs][block]).all():
            extra[exact[len(NAME) + 1 :]] = bias
    return extra


def _cells(options: BiLmOptions) -> List[Tuple[str, str, str, slice]]:
    """For each cell: the engine's bias, the file's, where the exact forget bias goes, and its block in the file's."""
    cells = options.lstm.dim
    return [
        (
            f"lstm.{name}_layers.{layer}.bias",
            cell_group(options, direction, layer) + "/B",
            f"{NAME}/forget_bias/{name}_{layer}",
            slice(2 * cells, 3 * cells),
        )
        for direction, name in enumerate(DIRECTIONS)
        for layer in range(options.lstm.n_layers)
    ]
