"""How alike the words of two sentences are, layer by layer."""

from typing import Sequence

import numpy as np

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.neighbors.library import unit


def similarities(embedder: SentenceEmbedder, first: Sequence[str], second: Sequence[str], layer: int) -> np.ndarray:
    """
    Compare each word of a sentence with each word of another.

    # Parameters

    embedder : of all layers.
    first, second : tokens.
    layer : number of the layer.

    # Returns

    Cosines, `(tokens of the first, tokens of the second)` float32.
    """
    vectors = unit(embedder.embed([first, second])[:, layer])
    return np.clip(vectors[: len(first)] @ vectors[len(first) :].T, -1.0, 1.0)
