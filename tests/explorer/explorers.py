"""Explorers to ask: the built-in biLM, with and without a softmax, senses and an index."""

import dataclasses
from pathlib import Path
from typing import Any, List, Sequence

import torch

from elmo_plugin.explorer.explorer import Choices, Explorer
from elmo_plugin.formats import read_weights
from elmo_plugin.formats.weight_set import WeightSet

#: the vocabulary of the small softmax
WORDS = ["<S>", "</S>", "<UNK>", "They", "saw", "a", "new", "play", "at", "the", "theatre", "in", "London", "."]

SENTENCES = [
    "They saw a new play at the theatre in London .".split(),
    "The children play in the garden after school .".split(),
    "The bank raised its rates again .".split(),
]


def with_softmax(seed: int = 0) -> WeightSet:
    """The built-in biLM with a random softmax over a few words."""
    weights = dataclasses.replace(read_weights("builtin"), source="builtin")
    random = torch.Generator().manual_seed(seed)
    width = weights.options.lstm.projection_dim
    softmax = {
        "weight": torch.randn(len(WORDS), width, generator=random),
        "bias": torch.randn(len(WORDS), generator=random),
    }
    return dataclasses.replace(weights, softmax=softmax, vocabulary=WORDS)


def make_explorer(is_scoring: bool = True, **choices: Any) -> Explorer:
    """Load an explorer; `choices` as `Choices` takes them."""
    weights = with_softmax() if is_scoring else dataclasses.replace(with_softmax(), softmax=None, vocabulary=None)
    return Explorer(weights, Choices(**choices))


def make_index(explorer: Explorer, sentences: Sequence[List[str]], folder: Path, **settings: Any) -> Path:
    """Build an index of sentences by the biLM of an explorer."""
    from tests.neighbors import indexes

    text = folder.with_suffix(".txt")
    text.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
    indexes.build(text, folder, explorer.embedder, "builtin", **settings)
    return folder
