"""The biLMs that are measured: the published sizes with random weights, the same on every machine."""

from dataclasses import dataclass
from typing import Dict, Tuple

import torch

from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.engine.tensor_table import expected_shapes

_PUBLISHED_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))

# How open the forget gates start, as in TensorFlow's cell
_FORGET_BIAS = 1.0


def _size(cells: int, projection: int, highways: int, filters: Tuple[Tuple[int, int], ...]) -> BiLmOptions:
    return BiLmOptions(
        lstm=LstmOptions(cells, projection, n_layers=2, cell_clip=3.0, proj_clip=3.0, use_skip_connections=True),
        char_cnn=CharCnnOptions(embedding_dim=16, filters=filters, n_highway=highways),
    )


#: by name: the published sizes, the one that this package ships, and one for tests
SIZES: Dict[str, BiLmOptions] = {
    "tiny": _size(24, 8, 2, ((1, 4), (2, 8), (3, 12))),
    "builtin": _size(512, 128, 1, _PUBLISHED_FILTERS[:5]),
    "small": _size(1024, 128, 1, _PUBLISHED_FILTERS),
    "medium": _size(2048, 256, 1, _PUBLISHED_FILTERS),
    "original": _size(4096, 512, 2, _PUBLISHED_FILTERS),
}


@dataclass(frozen=True, eq=False)
class Model:
    """
    A biLM to measure.

    # Parameters

    size : a name of `SIZES`, or what else to call it.
    options : the architecture, with a character CNN.
    tensors : its weights under the engine's names, float32.
    """

    size: str
    options: BiLmOptions
    tensors: Dict[str, torch.Tensor]

    @property
    def parameters(self) -> int:
        """Number of all weights."""
        return sum(tensor.numel() for tensor in self.tensors.values())


def random_model(size: str, seed: int) -> Model:
    """
    Draw a biLM of a published size.

    Vectors come out about as large as those of trained biLMs and the recurrence is calm, so that the order of a sum
    does not show. Biases are not zero and some cells reach their clip: what leaves either out does not go unnoticed.

    # Parameters

    size : a name of `SIZES`.
    seed : of the weights.
    """
    options = SIZES[size]
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, shape in expected_shapes(options).items():
        tensors[name] = torch.empty(shape).normal_(0.0, _deviation(name, shape), generator=generator)
    tensors["token_encoder.char_embedding"][0] = 0.0  # the mask
    for name, tensor in tensors.items():
        if name.startswith("lstm.") and name.endswith(".bias"):
            tensor[options.lstm.dim : 2 * options.lstm.dim] += _FORGET_BIAS
    return Model(size, options, tensors)


def _deviation(name: str, shape: Tuple[int, ...]) -> float:
    if name.endswith("bias"):
        return 0.1
    if name.endswith("char_embedding"):
        return 0.5
    fan_in = 1
    for extent in shape[1:]:
        fan_in *= extent
    scale = 0.5 if name.endswith("recurrent_weight") else 1.0
    return scale * fan_in**-0.5
