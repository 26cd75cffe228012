"""A toy classification task for whole training runs: is "good" or "bad" the last of the two words in the text?"""

import importlib
import json
import random
from pathlib import Path
from typing import Any, Dict, Optional

# In this order: the plugin's cures for AllenNLP come first. The second registers "bcn".
for package in ("elmo_plugin", "allennlp_models.classification"):
    importlib.import_module(package)

WORDS = ["good", "bad", "film", "the", "really", "plot"]


def config(
    folder: Path,
    model: Dict[str, Any],
    indexers: Optional[Dict[str, Any]] = None,
    epochs: int = 2,
    **more: Any,
) -> Dict[str, Any]:
    """Write data into `folder` and return a configuration with the given model and token indexers."""
    for name, number, seed in (("train", 24, 1), ("dev", 8, 2)):
        chooser = random.Random(seed)
        with (folder / f"{name}.jsonl").open("w") as file:
            for _ in range(number):
                words = [chooser.choice(WORDS) for _ in range(chooser.randint(1, 6))] + [chooser.choice(WORDS[:2])]
                last = [word for word in words if word in WORDS[:2]][-1]
                file.write(json.dumps({"text": " ".join(words), "label": last}) + "\n")
    return {
        "dataset_reader": {
            "type": "text_classification_json",
            "tokenizer": "just_spaces",
            "token_indexers": indexers or {"tokens": "single_id", "elmo": "elmo"},
        },
        "train_data_path": str(folder / "train.jsonl"),
        "validation_data_path": str(folder / "dev.jsonl"),
        "model": model,
        "data_loader": {"batch_size": 8, "shuffle": False},
        "trainer": {"num_epochs": epochs, "cuda_device": -1, "optimizer": {"type": "adam", "lr": 0.01}},
        **more,
    }


def bcn(elmo: Dict[str, Any], width: int = 12) -> Dict[str, Any]:
    """The paper's sentiment model, tiny, with AllenNLP's `Elmo` at the input and behind the integrator."""
    return {
        "type": "bcn",
        "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}},
        "embedding_dropout": 0.2,
        "pre_encode_feedforward": {
            "input_dim": 4 + width,
            "num_layers": 1,
            "hidden_dims": [6],
            "activations": ["relu"],
            "dropout": [0.2],
        },
        "encoder": {"type": "lstm", "input_size": 6, "hidden_size": 3, "bidirectional": True},
        "integrator": {"type": "lstm", "input_size": 18, "hidden_size": 3, "bidirectional": True},
        "integrator_dropout": 0.1,
        "output_layer": {
            "input_dim": 4 * (6 + width),
            "num_layers": 2,
            "hidden_dims": [4, 2],
            "activations": ["relu", "linear"],
            "dropout": [0.2, 0.0],
        },
        "elmo": elmo,
        "use_input_elmo": True,
        "use_integrator_output_elmo": True,
    }


def plain(embedder: Dict[str, Any], width: int = 12) -> Dict[str, Any]:
    """A classifier over word vectors of width 4 and ELMo."""
    tokens = {"type": "embedding", "embedding_dim": 4}
    return {
        "type": "basic_classifier",
        "text_field_embedder": {"token_embedders": {"tokens": tokens, "elmo": embedder}},
        "seq2vec_encoder": {"type": "lstm", "input_size": 4 + width, "hidden_size": 5},
    }
