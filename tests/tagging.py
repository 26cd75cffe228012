"""A toy tagging task for whole training runs: every word has a tag, and some words change the next word's tag."""

import json
import random
from pathlib import Path
from typing import Any, Dict, List, Optional

from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import Model

WORDS = {"the": "D", "a": "D", "cat": "N", "dog": "N", "Zoë": "N", "sees": "V", "naps": "V", "not": "O", ".": "O"}


def sentences(number: int, seed: int) -> List[str]:
    """Lines of `word###tag`."""
    chooser = random.Random(seed)
    lines = []
    for _ in range(number):
        words = [chooser.choice(list(WORDS)) for _ in range(chooser.randint(1, 7))]
        tags = ["X" if before == "not" else WORDS[word] for before, word in zip([""] + words, words)]
        lines.append(" ".join(f"{word}###{tag}" for word, tag in zip(words, tags)))
    return lines


def config(
    folder: Path,
    embedder: Dict[str, Any],
    indexer: Optional[Dict[str, Any]] = None,
    encoder: Optional[Dict[str, Any]] = None,
    width: int = 12,
    epochs: int = 2,
    model: str = "simple_tagger",
    **more: Any,
) -> Dict[str, Any]:
    """
    Write data into `folder` and return the configuration of a tagger.

    # Parameters

    embedder, indexer : under the key "elmo".
    width : of the embedder's output.
    more : further keys of the configuration.
    """
    for name, number, seed in (("train", 24, 1), ("dev", 8, 2)):
        (folder / f"{name}.txt").write_text("\n".join(sentences(number, seed)) + "\n", encoding="utf-8")
    return {
        "dataset_reader": {
            "type": "sequence_tagging",
            "token_indexers": {"elmo": indexer or {"type": "elmo"}},
        },
        "train_data_path": str(folder / "train.txt"),
        "validation_data_path": str(folder / "dev.txt"),
        "model": {
            "type": model,
            "text_field_embedder": {"token_embedders": {"elmo": embedder}},
            "encoder": encoder or {"type": "lstm", "input_size": width, "hidden_size": 5, "bidirectional": True},
        },
        "data_loader": {"batch_size": 8, "shuffle": False},
        "trainer": {
            "num_epochs": epochs,
            "cuda_device": -1,
            "optimizer": {"type": "adam", "lr": 0.01},
            "checkpointer": {"keep_most_recent_by_count": 5},
        },
        **more,
    }


def train(configuration: Dict[str, Any], serialization_dir: Path, **options: Any) -> Model:
    """Run `allennlp train` on a configuration."""
    model = train_model(Params(json.loads(json.dumps(configuration))), str(serialization_dir), **options)
    return model


def losses(serialization_dir: Path) -> List[float]:
    """Training and validation losses, epoch by epoch."""
    found = []
    for path in sorted(serialization_dir.glob("metrics_epoch_*.json")):
        metrics = json.loads(path.read_text())
        found += [metrics["training_loss"], metrics["validation_loss"]]
    return found
