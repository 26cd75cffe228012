"""The bootstrap over sentences: what other texts of the same kind would score."""

from typing import Iterator, Sequence, Tuple, Union

import numpy as np


def resamples(sentences: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """
    Draw texts of as many sentences, with repetition.

    # Parameters

    sentences : how many there are.
    samples : texts to draw.
    seed : of the drawing.

    # Returns

    For each text how often each sentence is in it, `(sentences,)` int64.
    """
    random = np.random.default_rng(seed)
    for _ in range(samples):
        yield np.bincount(random.integers(0, sentences, sentences), minlength=sentences)


def central(values: Union[Sequence[float], np.ndarray], level: float) -> Tuple[float, float]:
    """The bounds between which a share `level` of the values lies, as much left out below as above."""
    outside = 100 * (1 - level) / 2
    low, high = np.percentile(values, [outside, 100 - outside])
    return float(low), float(high)
