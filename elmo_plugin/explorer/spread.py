"""How the occurrences of one word spread in a layer, in the plane of their two principal components."""

from collections import Counter
from typing import List, NamedTuple, Sequence, Tuple

import numpy as np

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.explorer.explorer import Explorer
from elmo_plugin.explorer.occurrences import Occurrence

#: occurrences from outside the page, at most
MOST = 200


class Spread(NamedTuple):
    """
    A word's occurrences.

    # Parameters

    occurrences : what is shown.
    points : of each, `(occurrences, 2)`.
    shares : of the variance, along the two axes.
    senses : known senses, the most frequent first, with how often they are shown.
    total : occurrences outside the page that there are; those shown may be fewer.
    """

    occurrences: List[Occurrence]
    points: np.ndarray
    shares: Tuple[float, float]
    senses: List[Tuple[str, int]]
    total: int


def spread(explorer: Explorer, sentences: Sequence[Sequence[str]], sentence: int, word: int, layer: int) -> Spread:
    """
    Find and place the occurrences of a word.

    # Parameters

    explorer : with or without senses and an index.
    sentences : of the page.
    sentence, word : which word of them.
    layer : number of the layer.
    """
    form = sentences[sentence][word]
    outside, total = explorer.occurrences(form, MOST)
    occurrences = [*outside, *explorer.on_page(sentences, form)]
    points, shares = principal_plane(occurrence_vectors(explorer.embedder, occurrences)[:, layer])
    senses = Counter(one.sense for one in occurrences if one.sense).most_common()
    return Spread(occurrences, points, shares, senses, total)


def occurrence_vectors(embedder: SentenceEmbedder, occurrences: Sequence[Occurrence]) -> np.ndarray:
    """Return the mean vector of each occurrence's tokens, `(occurrences, layers, dim)`."""
    # Each sentence once: a word may be in one many times.
    sentences = list(dict.fromkeys(tuple(one.tokens) for one in occurrences))
    vectors = embedder.embed(sentences)
    starts = dict(zip(sentences, np.cumsum([0, *map(len, sentences)]).tolist()))
    firsts = [starts[tuple(one.tokens)] for one in occurrences]
    return np.stack(
        [vectors[first + one.start : first + one.stop].mean(axis=0) for first, one in zip(firsts, occurrences)]
    )


def principal_plane(vectors: np.ndarray) -> Tuple[np.ndarray, Tuple[float, float]]:
    """
    Project vectors onto their first two principal components.

    # Parameters

    vectors : `(n, dim)`, n at least 1.

    # Returns

    Points `(n, 2)`, the largest coordinate along each axis positive, and the shares of the variance along the axes;
    zeros where nothing varies.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    variances = np.zeros(2)
    points = np.zeros((len(vectors), 2))
    kept = min(2, len(lengths))
    points[:, :kept] = left[:, :kept] * lengths[:kept]
    variances[:kept] = lengths[:kept] ** 2
    # Of equal vectors rounding leaves something that is no variance.
    is_noise = variances <= 1e-12 * float((vectors.astype(np.float64) ** 2).sum())
    points[:, is_noise] = 0.0
    variances[is_noise] = 0.0
    largest = points[np.abs(points).argmax(axis=0), [0, 1]]
    points *= np.where(largest < 0, -1.0, 1.0)
    total = float((lengths**2).sum())
    shares = variances / total if variances.any() else variances
    return points, (float(shares[0]), float(shares[1]))
