"""
Tiny random biLMs as pairs of files, written with h5py and json alone: nothing here uses the code under test.

The weights are large enough for the gates, the clips and the highway layers to matter in every output.
"""

import json
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

import numpy as np

#: one sentence of every kind: plain, one word, empty, longer than the row of a word, non-ASCII, the two boundary words
SENTENCES = [
    ["The", "cat", "sat", "on", "the", "mat", "."],
    ["Yes"],
    [],
    ["x" * 60, "naïve", "日本語", "🙂"],
    ["<S>", "odd", "</S>"],
]


def options(
    cells: int = 12,
    projection: int = 6,
    layers: int = 2,
    filters: Sequence[Sequence[int]] = ((1, 4), (2, 5), (3, 7)),
    highways: int = 2,
    characters: int = 50,
    character_dim: int = 4,
    activation: str = "relu",
    clip: Optional[float] = 3.0,
    skip: bool = True,
    words: Optional[int] = None,
) -> Dict[str, Any]:
    """Make the content of an options.json; `words` makes it a word-level model with so many words."""
    result: Dict[str, Any] = {
        "lstm": {
            "dim": cells,
            "projection_dim": projection,
            "n_layers": layers,
            "cell_clip": clip,
            "proj_clip": clip,
            "use_skip_connections": skip,
        },
    }
    if words is not None:
        result["n_tokens_vocab"] = words
    else:
        result["char_cnn"] = {
            "activation": activation,
            "embedding": {"dim": character_dim},
            "filters": [list(pair) for pair in filters],
            "max_characters_per_token": characters,
            "n_characters": 262,
            "n_highway": highways,
        }
    return result


def datasets(content: Mapping[str, Any], seed: int = 0) -> Dict[str, np.ndarray]:
    """Make random weights under the names of bilm-tf's hdf5 layout."""
    random = np.random.RandomState(seed)
    lstm, cnn = content["lstm"], content.get("char_cnn")
    cells, projection = lstm["dim"], lstm["projection_dim"]
    result: Dict[str, np.ndarray] = {}

    def add(name: str, *shape: int, scale: float = 0.6) -> None:
        result[name] = (random.standard_normal(shape) * scale).astype("float32")

    if cnn is None:
        add("embedding", content["n_tokens_vocab"], projection)
    else:
        width = sum(count for _, count in cnn["filters"])
        add("char_embed", 261, cnn["embedding"]["dim"])
        for index, (span, count) in enumerate(cnn["filters"]):
            add(f"CNN/W_cnn_{index}", 1, span, cnn["embedding"]["dim"], count)
            add(f"CNN/b_cnn_{index}", count)
        for index in range(cnn["n_highway"]):
            for part in ("carry", "transform"):
                add(f"CNN_high_{index}/W_{part}", width, width, scale=0.3)
                add(f"CNN_high_{index}/b_{part}", width, scale=0.3)
        if width != projection:
            add("CNN_proj/W_proj", width, projection, scale=0.3)
            add("CNN_proj/b_proj", projection, scale=0.3)
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            # bilm-tf writes a stack of one layer without the wrapper
            stack = f"MultiRNNCell/Cell{layer}/" if lstm["n_layers"] > 1 else ""
            prefix = f"RNN_{direction}/RNN/{stack}LSTMCell/"
            add(prefix + "W_0", 2 * projection, 4 * cells)
            add(prefix + "B", 4 * cells)
            if cells != projection:
                add(prefix + "W_P_0", cells, projection)
    return result


def write(folder: Path, seed: int = 0, **changes: Any) -> Tuple[str, str]:
    """
    Write `options.json` and `weights.hdf5` into `folder`, which is made.

    # Parameters

    seed : of the weights.
    changes : arguments of `options`.

    # Returns

    The two paths.
    """
    import h5py  # not on a machine that tests the engine alone

    folder.mkdir(parents=True, exist_ok=True)
    content = options(**changes)
    options_file, weight_file = folder / "options.json", folder / "weights.hdf5"
    options_file.write_text(json.dumps(content))
    with h5py.File(weight_file, "w") as target:
        for name, values in datasets(content, seed).items():
            target[name] = values
    return str(options_file), str(weight_file)


def write_word_level(folder: Path, words: Sequence[str], seed: int = 0, **changes: Any) -> Tuple[str, str]:
    """Write a word-level model and its `vocabulary.txt`, which starts with <S>, </S>, <UNK>."""
    vocabulary = ["<S>", "</S>", "<UNK>"] + list(words)
    paths = write(folder, seed, words=len(vocabulary), **changes)
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    return paths
