"""
The one table between bilm-tf's hdf5 datasets and the engine's tensors: names, layouts, gate order, mask rows.

C is the width of a character vector, F the number of filters, P the projection, D the cells, V the words.
"""

from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np
import torch

from elmo_plugin.engine.characters import NUM_CHARACTER_IDS
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.tensor_table import Shape
from elmo_plugin.formats import forget_bias
from elmo_plugin.formats.weight_set import softmax_shapes

DIRECTIONS = ("forward", "backward")

#: datasets of the language model's output, and what `WeightSet.everything` calls them
SOFTMAX = {"softmax/W": "softmax.weight", "softmax/b": "softmax.bias"}

# bilm-tf orders the gates i, j (candidate), f, o; the engine i, f, g (candidate), o. The swap is its own inverse.
_GATES = [0, 2, 1, 3]


@dataclass(frozen=True)
class Rule:
    """
    One dataset of the file and the tensors of the engine that hold the same numbers.

    # Parameters

    dataset : path inside the hdf5 file.
    shape : its shape.
    tensors : names in the engine, in the order of `read`'s results and `write`'s arguments.
    read : the file's array to the engine's arrays.
    write : the engine's arrays to the file's array; `read`'s inverse.
    """

    dataset: str
    shape: Shape
    tensors: Tuple[str, ...]
    read: Callable[[np.ndarray], Tuple[np.ndarray, ...]]
    write: Callable[..., np.ndarray]


def rules(options: BiLmOptions) -> List[Rule]:
    """
    List every dataset of a weight file with these options, the softmax apart.

    # Parameters

    options : the architecture.

    # Raises

    `FormatError` for one that the layout cannot hold.
    """
    if options.lexicon is not None:
        raise FormatError(
            "the hdf5 layout has no place for a lexicon of characters and words, as biLMs of ELMoForManyLangs have it. "
            "Write such a biLM as .safetensors."
        )
    table = _word_rules(options) if options.char_cnn is None else _character_rules(options)
    width, cells = options.lstm.projection_dim, options.lstm.dim
    for direction, name in enumerate(DIRECTIONS):
        for layer in range(options.lstm.n_layers):
            cell = cell_group(options, direction, layer)
            prefix = f"lstm.{name}_layers.{layer}."
            kernel = (prefix + "input_weight", prefix + "recurrent_weight")
            bias = (prefix + "bias", prefix + "forget_residual")
            table.append(Rule(cell + "/W_0", (2 * width, 4 * cells), kernel, _read_kernel, _write_kernel))
            table.append(Rule(cell + "/B", (4 * cells,), bias, _read_bias, _write_bias))
            if options.lstm.has_projection:
                table.append(_matrix(cell + "/W_P_0", (cells, width), prefix + "projection_weight"))
    return table


def cell_group(options: BiLmOptions, direction: int, layer: int) -> str:
    """
    Name the group of one LSTM cell as bilm-tf's dump does: a single layer is not wrapped in a MultiRNNCell.

    # Parameters

    options : the architecture.
    direction : 0 is forward, 1 is backward.
    layer : from 0.
    """
    return f"RNN_{direction}/RNN/LSTMCell" if options.lstm.n_layers == 1 else reader_group(direction, layer)


def reader_group(direction: int, layer: int) -> str:
    """Name the group where AllenNLP and bilm-tf's inference graph look for a cell, however many layers there are."""
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def hdf5_shapes(options: BiLmOptions) -> Dict[str, Shape]:
    """List the datasets that a weight file with these options must have."""
    return {rule.dataset: rule.shape for rule in rules(options)}


def to_engine(options: BiLmOptions, arrays: Mapping[str, np.ndarray]) -> Dict[str, torch.Tensor]:
    """
    Convert the datasets of a weight file, all present and of the right shape, to the engine's tensors.

    # Parameters

    options : the architecture.
    arrays : dataset to float32 array.

    # Returns

    Name to float32 tensor; none shares memory with the arrays.
    """
    tensors = {}
    for rule in rules(options):
        for name, array in zip(rule.tensors, rule.read(arrays[rule.dataset])):
            tensors[name] = _copy(array)
    return tensors


def to_hdf5(options: BiLmOptions, tensors: Mapping[str, torch.Tensor]) -> Dict[str, np.ndarray]:
    """
    Convert the engine's tensors to the datasets of a weight file: the inverse of `to_engine`.

    # Parameters

    options : the architecture.
    tensors : name to tensor; `forget_residual` may be absent.

    # Returns

    Dataset to float32 array.
    """
    found = {name: tensor.detach().to("cpu", torch.float32).numpy() for name, tensor in tensors.items()}
    no_residual = np.zeros(options.lstm.dim, dtype=np.float32)
    arrays = {}
    for rule in rules(options):
        parts = [
            found.get(name, no_residual) if name.endswith("forget_residual") else found[name] for name in rule.tensors
        ]
        arrays[rule.dataset] = _copy(rule.write(*parts)).numpy()
    return arrays


def expected_shapes(options: BiLmOptions, found: Mapping[str, Shape]) -> Dict[str, Shape]:
    """List the datasets that must be there: `hdf5_shapes` and, where a part of a softmax was found, all of it."""
    expected = hdf5_shapes(options)
    if any(name in found for name in SOFTMAX):
        shapes = softmax_shapes(options, found.get("softmax/W"))
        expected.update({name: shapes[ours] for name, ours in SOFTMAX.items()})
    return expected


def unwrapped(options: BiLmOptions, name: str) -> str:
    """
    Give a dataset of a one-layer model the one name that is used here, whichever the writer chose.

    # Parameters

    options : the architecture; with more layers there is one name only.
    name : of any dataset.
    """
    for direction in range(len(DIRECTIONS) if options.lstm.n_layers == 1 else 0):
        wrapped = reader_group(direction, 0) + "/"
        if name.startswith(wrapped):
            return f"{cell_group(options, direction, 0)}/{name[len(wrapped) :]}"
    return name


def softmax_from(arrays: Mapping[str, np.ndarray]) -> Optional[Dict[str, torch.Tensor]]:
    """Return the softmax as `WeightSet` keeps it, None where the arrays have none."""
    if "softmax/W" not in arrays:
        return None
    return {"weight": torch.from_numpy(arrays["softmax/W"]), "bias": torch.from_numpy(arrays["softmax/b"])}


def _copy(array: np.ndarray) -> torch.Tensor:
    # by torch, which transposes a large matrix several times faster than numpy
    return torch.from_numpy(array).clone(memory_format=torch.contiguous_format)


def _word_rules(options: BiLmOptions) -> List[Rule]:
    assert options.n_tokens_vocab is not None, options
    shape = (options.n_tokens_vocab, options.lstm.projection_dim)
    return [Rule("embedding", shape, ("token_encoder.word_embedding",), _add_mask_row, _drop_mask_row)]


def _character_rules(options: BiLmOptions) -> List[Rule]:
    cnn = options.char_cnn
    assert cnn is not None, options
    width, filters, root = cnn.embedding_dim, cnn.num_filters, "token_encoder."
    shape = (NUM_CHARACTER_IDS - 1, width)
    table = [Rule("char_embed", shape, (root + "char_embedding",), _add_mask_row, _drop_mask_row)]
    for index, (span, count) in enumerate(cnn.filters):
        name, kernel = f"{root}convolutions.{index}.", (1, span, width, count)
        table.append(Rule(f"CNN/W_cnn_{index}", kernel, (name + "weight",), _read_convolution, _write_convolution))
        table.append(_vector(f"CNN/b_cnn_{index}", count, name + "bias"))
    for index in range(cnn.n_highway):
        # the transform is the candidate, the carry is the gate on it
        for part, ours in (("transform", "candidate"), ("carry", "gate")):
            group, name = f"CNN_high_{index}/", f"{root}highways.{index}.{ours}_"
            table.append(_matrix(f"{group}W_{part}", (filters, filters), name + "weight"))
            table.append(_vector(f"{group}b_{part}", filters, name + "bias"))
    if filters != options.lstm.projection_dim:
        shape = (filters, options.lstm.projection_dim)
        table.append(_matrix("CNN_proj/W_proj", shape, root + "projection.weight"))
        table.append(_vector("CNN_proj/b_proj", options.lstm.projection_dim, root + "projection.bias"))
    return table


def _matrix(dataset: str, shape: Shape, tensor: str) -> Rule:
    return Rule(dataset, shape, (tensor,), lambda array: (array.T,), lambda array: array.T)


def _vector(dataset: str, size: int, tensor: str) -> Rule:
    return Rule(dataset, (size,), (tensor,), lambda array: (array,), lambda array: array)


def _add_mask_row(array: np.ndarray) -> Tuple[np.ndarray]:
    return (np.concatenate([np.zeros_like(array[:1]), array]),)


def _drop_mask_row(array: np.ndarray) -> np.ndarray:
    return array[1:]


def _read_convolution(array: np.ndarray) -> Tuple[np.ndarray]:
    return (array[0].transpose(2, 1, 0),)  # [1, width, C, n] to (n, C, width)


def _write_convolution(array: np.ndarray) -> np.ndarray:
    return array.transpose(2, 1, 0)[np.newaxis]


def _swap_gates(array: np.ndarray) -> np.ndarray:
    return array.reshape((4, -1) + array.shape[1:])[_GATES].reshape(array.shape)


def _read_kernel(array: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    rows, columns = array.shape
    kernel = array.reshape(rows, 4, -1)[:, _GATES].reshape(rows, columns)  # [2P, 4D]: input above recurrent
    return kernel[: rows // 2].T, kernel[rows // 2 :].T


def _write_kernel(input_weight: np.ndarray, recurrent_weight: np.ndarray) -> np.ndarray:
    return np.concatenate([_swap_gates(input_weight), _swap_gates(recurrent_weight)], axis=1).T


def _read_bias(array: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    gates = _swap_gates(array).reshape(4, -1)
    gates[1], residual = forget_bias.add_one(gates[1])
    return gates.reshape(-1), residual


def _write_bias(bias: np.ndarray, residual: np.ndarray) -> np.ndarray:
    gates = bias.reshape(4, -1).copy()
    gates[1] = forget_bias.subtract_one(gates[1], residual)
    return _swap_gates(gates.reshape(-1))
