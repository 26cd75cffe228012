"""
Log-uniform sampling of words without repetition, as TensorFlow's `log_uniform_candidate_sampler(unique=True)`.

The vocabulary must be sorted by falling frequency: word `k` is drawn with probability
`log((k + 2) / (k + 1)) / log(n + 1)`, which is close to Zipf's law.
"""

import math
from typing import List, Optional, Tuple

import numpy as np
import torch

from elmo_plugin.engine.errors import OptionsError


class LogUniformSampler:
    """
    Draw sets of distinct words, all from torch's random generator, with no loop over words.

    # Parameters

    n_words : size of the vocabulary.
    n_samples : distinct words per draw; fewer than `n_words`.

    # Raises

    `OptionsError` when there are as many samples as words: the full softmax is then exact and cheaper.
    """

    def __init__(self, n_words: int, n_samples: int) -> None:
        if not 0 < n_samples < n_words:
            raise OptionsError(
                f"sampled softmax: {n_samples} negative samples from a vocabulary of {n_words} words; "
                "expected at least 1 and fewer than there are words, because samples are distinct. "
                "Lower the number of samples or use the full softmax."
            )
        self.n_words = n_words
        self.n_samples = n_samples
        self._log_range = math.log(n_words + 1)
        # Drawn at a time: a number that depends on nothing else, so that the random generator alone decides.
        self._n_draws = self._usual_draws()

    def sample(self, device: torch.device, generator: Optional[torch.Generator] = None) -> Tuple[torch.Tensor, int]:
        """
        Draw words one after the other until `n_samples` distinct ones have been seen.

        # Returns

        The distinct words in order of their first draw, `(n_samples,)` int64, and the number of draws it took.
        """
        draws: List[torch.Tensor] = []
        while True:
            draws.append(self._draw(self._n_draws, device, generator))
            words, first = _first_occurrences(torch.cat(draws))
            if len(words) >= self.n_samples:
                n_draws = int(first[self.n_samples - 1]) + 1
                return words[: self.n_samples], n_draws

    def _usual_draws(self) -> int:
        """A little more than the number of draws that is expected to give `n_samples` distinct words."""
        words = np.arange(self.n_words)
        log_missed = np.log1p(-np.log1p(1.0 / (words + 1)) / self._log_range)
        low, high = self.n_samples, 2 * self.n_samples
        while -np.expm1(high * log_missed).sum() < self.n_samples:
            low, high = high, 2 * high
        while low + 1 < high:
            middle = (low + high) // 2
            enough = -np.expm1(middle * log_missed).sum() >= self.n_samples
            low, high = (low, middle) if enough else (middle, high)
        return high + high // 16

    def _draw(self, count: int, device: torch.device, generator: Optional[torch.Generator]) -> torch.Tensor:
        uniform = torch.rand(count, dtype=torch.float64, device=device, generator=generator)
        return (torch.exp(uniform * self._log_range).long() - 1).clamp_(0, self.n_words - 1)

    def log_expected_count(self, words: torch.Tensor, n_draws: int, dtype: torch.dtype) -> torch.Tensor:
        """
        Logarithm of the expected number of times that each word is in a sample: `1 - (1 - p) ** n_draws`.

        As in TensorFlow, `n_samples * p` when no word was drawn twice.
        """
        words = words.double()
        probability = torch.log1p(1.0 / (words + 1)) / self._log_range
        if n_draws == self.n_samples:
            expected = probability * n_draws
        else:
            expected = -torch.expm1(n_draws * torch.log1p(-probability))
        return expected.log().to(dtype)


def _first_occurrences(draws: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Distinct values in order of their first occurrence, and the positions of those occurrences."""
    values, order = torch.sort(draws, stable=True)
    is_first = torch.ones_like(values, dtype=torch.bool)
    is_first[1:] = values[1:] != values[:-1]
    first = order[is_first].sort().values
    return draws[first], first
