"""
Tiny models of ELMoForManyLangs as folders, and what its equations make of them, written from the description of that
program: nothing here uses the code under test.
"""

import json
from pathlib import Path
from typing import Any, Dict, List, Sequence

import numpy as np
import torch

WORDS = ["<oov>", "<bos>", "<eos>", "<pad>", "the", "cat", "naïve", "日本", "\u3000", "<pad>x"]
CHARACTERS = ["t", "h", "e", "<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>", "c", "a", "日", "ï", "\u2028", " "]

#: one sentence of every kind: plain, unknown words and characters, too long, special words, odd characters
SENTENCES = [
    ["the", "cat"],
    ["naïve", "dog", "日本", "本", "the"],
    ["thecatthecatthecat", "e"],
    ["<bos>", "<eos>", "<oov>", "<pad>", ""],
    ["\u3000", "a\u2028c", "t h", "🙂"],
]


def config(word_dim: int = 3, activation: str = "relu", clip: Any = 0.4, layers: int = 2) -> Dict[str, Any]:
    """Make the content of the file that config.json names."""
    return {
        "encoder": {
            "name": "elmo",
            "dim": 7,
            "projection_dim": 4,
            "n_layers": layers,
            "cell_clip": clip,
            "proj_clip": clip,
        },
        "token_embedder": {
            "name": "cnn",
            "activation": activation,
            "filters": [[1, 2], [2, 3], [3, 4]],
            "n_highway": 2,
            "word_dim": word_dim,
            "char_dim": 5,
            "max_characters_per_token": 12,
        },
        "classifier": {"name": "sampled_softmax", "n_samples": 8192},
        "dropout": 0.1,
    }


def states(content: Dict[str, Any], seed: int = 0) -> List[Dict[str, torch.Tensor]]:
    """Draw the state dicts of the token embedder and of the encoder."""
    random = np.random.RandomState(seed)
    embedder, encoder = content["token_embedder"], content["encoder"]
    token: Dict[str, torch.Tensor] = {}
    lstm: Dict[str, torch.Tensor] = {}

    def add(state: Dict[str, torch.Tensor], name: str, *shape: int) -> None:
        state[name] = torch.from_numpy((random.standard_normal(shape) * 0.6).astype("float32"))

    if embedder["word_dim"]:
        add(token, "word_emb_layer.embedding.weight", len(WORDS), embedder["word_dim"])
    add(token, "char_emb_layer.embedding.weight", len(CHARACTERS), embedder["char_dim"])
    for index, (width, count) in enumerate(embedder["filters"]):
        add(token, f"convolutions.{index}.weight", count, embedder["char_dim"], width)
        add(token, f"convolutions.{index}.bias", count)
    filters = sum(count for _, count in embedder["filters"])
    for index in range(embedder["n_highway"]):
        add(token, f"highways._layers.{index}.weight", 2 * filters, filters)
        add(token, f"highways._layers.{index}.bias", 2 * filters)
    width, cells = encoder["projection_dim"], encoder["dim"]
    add(token, "projection.weight", width, embedder["word_dim"] + filters)
    add(token, "projection.bias", width)
    for layer in range(encoder["n_layers"]):
        for direction in ("forward", "backward"):
            prefix = f"{direction}_layer_{layer}."
            add(lstm, prefix + "input_linearity.weight", 4 * cells, width)
            add(lstm, prefix + "state_linearity.weight", 4 * cells, width)
            add(lstm, prefix + "state_linearity.bias", 4 * cells)
            add(lstm, prefix + "state_projection.weight", width, cells)
    return [token, lstm]


def write(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """
    Write a model.

    # Parameters

    folder : is made.
    seed : of the weights.
    changes : arguments of `config`.

    # Returns

    The folder.
    """
    content = config(**changes)
    (folder / "configs").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"seed": 1, "config_path": "/Users/author/gone/small.json"}))
    (folder / "configs" / "small.json").write_text(json.dumps(content))
    for name, entries in (("char.dic", CHARACTERS), ("word.dic", WORDS)):
        lines = [f"{entry}\t{place}\n" for place, entry in enumerate(entries)]
        (folder / name).write_bytes("".join(reversed(lines)).encode("utf-8"))  # in any order
    for name, state in zip(("token_embedder.pkl", "encoder.pkl"), states(content, seed)):
        torch.save(state, folder / name)
    return folder


def layers(sentence: Sequence[str], seed: int = 0, **changes: Any) -> np.ndarray:
    """Run a sentence from zero, in float64: `(layers, words + 2, 2 * projection)`."""
    content = config(**changes)
    token, lstm = ({name: value.double().numpy() for name, value in state.items()} for state in states(content, seed))
    vectors = np.stack([_token(content, token, word) for word in ["<bos>", *sentence, "<eos>"]])
    result = [np.concatenate([vectors, vectors], axis=1)]
    inputs = {"forward": vectors, "backward": vectors}
    for layer in range(content["encoder"]["n_layers"]):
        for direction, vectors in inputs.items():
            outputs = _run(content, lstm, f"{direction}_layer_{layer}.", vectors, direction == "backward")
            inputs[direction] = outputs + vectors if layer else outputs
        result.append(np.concatenate([inputs["forward"], inputs["backward"]], axis=1))
    return np.stack(result)


def _token(content: Dict[str, Any], state: Dict[str, np.ndarray], word: str) -> np.ndarray:
    options = content["token_embedder"]
    length = options["max_characters_per_token"]
    word = word[: length - 2]
    ids = [CHARACTERS.index(word)] if word in ("<bos>", "<eos>") else [_place(CHARACTERS, letter) for letter in word]
    # begin and end of a word are swapped
    ids = [CHARACTERS.index("<eow>"), *ids, CHARACTERS.index("<bow>")]
    ids += [CHARACTERS.index("<pad>")] * (length - len(ids))
    letters = state["char_emb_layer.embedding.weight"][ids]
    features = []
    for index, (width, _) in enumerate(options["filters"]):
        weight, bias = state[f"convolutions.{index}.weight"], state[f"convolutions.{index}.bias"]
        windows = [
            np.einsum("ncw,wc->n", weight, letters[start : start + width]) for start in range(length - width + 1)
        ]
        features.append(np.max(windows, axis=0) + bias)
    x = np.concatenate(features)
    x = np.tanh(x) if options["activation"] == "tanh" else np.maximum(x, 0)
    for index in range(options["n_highway"]):
        new, gate = np.split(state[f"highways._layers.{index}.weight"] @ x + state[f"highways._layers.{index}.bias"], 2)
        gate = 1 / (1 + np.exp(-gate))
        x = gate * x + (1 - gate) * np.maximum(new, 0)
    if options["word_dim"]:
        x = np.concatenate([state["word_emb_layer.embedding.weight"][_place(WORDS, word)], x])
    return state["projection.weight"] @ x + state["projection.bias"]


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else names.index("<oov>")


def _run(
    content: Dict[str, Any], state: Dict[str, np.ndarray], prefix: str, vectors: np.ndarray, backward: bool
) -> np.ndarray:
    bound = content["encoder"]["cell_clip"] or np.inf
    hidden, cell = np.zeros(content["encoder"]["projection_dim"]), np.zeros(content["encoder"]["dim"])
    outputs = np.zeros_like(vectors)
    for step in reversed(range(len(vectors))) if backward else range(len(vectors)):
        gates = state[prefix + "input_linearity.weight"] @ vectors[step]
        gates = gates + state[prefix + "state_linearity.weight"] @ hidden + state[prefix + "state_linearity.bias"]
        i, f, g, o = np.split(gates, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        cell = np.clip(i * np.tanh(g) + f * cell, -bound, bound)
        hidden = np.clip(state[prefix + "state_projection.weight"] @ (o * np.tanh(cell)), -bound, bound)
        outputs[step] = hidden
    return outputs
