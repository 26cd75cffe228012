"""
The biLM as its equations, one sentence after the other, in float64 NumPy, straight from the datasets of a weight file.

Written from bilm-tf's graph and independent of the package under test. Nothing is fast here.
"""

from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

Datasets = Mapping[str, np.ndarray]
#: (direction, layer) -> (hidden, cell)
State = Dict[Tuple[int, int], Tuple[np.ndarray, np.ndarray]]

ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}


def layers(
    options: Mapping[str, Any], datasets: Datasets, ids: np.ndarray, state: Optional[State] = None
) -> Tuple[List[np.ndarray], State]:
    """
    Run one sentence.

    # Parameters

    ids : `(steps, characters)`, or `(steps,)` for a word-level model; sentence boundaries included.
    state : where each direction and layer starts; None for zeros.

    # Returns

    Token layer and LSTM layers, `(steps, 2 * projection)` each, and the state behind the sentence.
    """
    lstm = options["lstm"]
    if "char_cnn" in options:
        tokens = words_to_vectors(options["char_cnn"], datasets, ids)
    else:
        tokens = double(datasets["embedding"])[ids - 1]
    result = [np.concatenate([tokens, tokens], axis=1)]
    inputs = [tokens, tokens[::-1]]
    final: State = {}
    for layer in range(lstm["n_layers"]):
        for direction in range(2):
            start = None if state is None else state[direction, layer]
            weights = weights_of_cell(lstm, datasets, direction, layer)
            outputs, final[direction, layer] = cell(lstm, *weights, inputs[direction], start)
            if layer > 0 and lstm["use_skip_connections"]:
                outputs = outputs + inputs[direction]
            inputs[direction] = outputs
        result.append(np.concatenate([inputs[0], inputs[1][::-1]], axis=1))
    return result, final


def words_to_vectors(cnn: Mapping[str, Any], datasets: Datasets, ids: np.ndarray) -> np.ndarray:
    """`(words, characters)` to `(words, projection)`."""
    data = {name: double(values) for name, values in datasets.items() if name.startswith(("char_embed", "CNN"))}
    table = np.concatenate([np.zeros_like(data["char_embed"][:1]), data["char_embed"]])
    x = table[ids]  # (words, characters, width of a character)
    features = []
    for index, (width, _) in enumerate(cnn["filters"]):
        kernel, bias = data[f"CNN/W_cnn_{index}"][0], data[f"CNN/b_cnn_{index}"]
        windows = [x[:, start : start + width] for start in range(x.shape[1] - width + 1)]
        convolved = np.stack([np.einsum("wkc,kcn->wn", window, kernel) + bias for window in windows])
        features.append(ACTIVATIONS[cnn["activation"]](convolved.max(axis=0)))
    y = np.concatenate(features, axis=1)
    for index in range(cnn["n_highway"]):
        prefix = f"CNN_high_{index}/"
        gate = sigmoid(y @ data[prefix + "W_carry"] + data[prefix + "b_carry"])
        candidate = np.maximum(y @ data[prefix + "W_transform"] + data[prefix + "b_transform"], 0)
        y = gate * candidate + (1 - gate) * y
    return y @ data["CNN_proj/W_proj"] + data["CNN_proj/b_proj"] if "CNN_proj/W_proj" in data else y


def weights_of_cell(
    lstm: Mapping[str, Any], datasets: Datasets, direction: int, layer: int
) -> Tuple[np.ndarray, np.ndarray, Optional[np.ndarray]]:
    """Kernel, bias with the forget gate's 1, and projection if there is one."""
    stack = f"MultiRNNCell/Cell{layer}/" if lstm["n_layers"] > 1 else ""
    prefix = f"RNN_{direction}/RNN/{stack}LSTMCell/"
    bias = datasets[prefix + "B"].copy()
    # The 1 is added in float32, as AllenNLP does when it loads a file.
    bias[2 * lstm["dim"] : 3 * lstm["dim"]] += np.float32(1)
    projection = datasets.get(prefix + "W_P_0")
    return double(datasets[prefix + "W_0"]), double(bias), None if projection is None else double(projection)


def cell(
    lstm: Mapping[str, Any],
    kernel: np.ndarray,
    bias: np.ndarray,
    projection: Optional[np.ndarray],
    inputs: np.ndarray,
    start: Optional[Tuple[np.ndarray, np.ndarray]],
) -> Tuple[np.ndarray, Tuple[np.ndarray, np.ndarray]]:
    """TensorFlow's `LSTMCell` with its clips and its projection, from the first input to the last."""
    h, c = start or (np.zeros(lstm["projection_dim"]), np.zeros(lstm["dim"]))
    outputs = np.zeros((len(inputs), lstm["projection_dim"]))
    for step, x in enumerate(inputs):
        i, j, f, o = np.split(np.concatenate([x, h]) @ kernel + bias, 4)
        c = clipped(sigmoid(f) * c + sigmoid(i) * np.tanh(j), lstm["cell_clip"])
        h = sigmoid(o) * np.tanh(c)
        if projection is not None:
            h = clipped(h @ projection, lstm["proj_clip"])
        outputs[step] = h
    return outputs, (h, c)


def double(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def clipped(x: np.ndarray, bound: Optional[float]) -> np.ndarray:
    return x if bound is None else np.clip(x, -bound, bound)
