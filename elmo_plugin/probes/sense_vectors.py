"""Word-sense disambiguation by the nearest average: each sense is the mean of its vectors in the training text."""

from typing import Dict, List, Mapping, Optional

import numpy as np

from elmo_plugin.neighbors.library import unit
from elmo_plugin.probes.senses import Lemma
from elmo_plugin.probes.word_vectors import WordVectors

#: cosines that differ by no more are equal
_EQUAL = 1e-6


class SenseVectors:
    """
    The averages of all senses, for each layer.

    # Parameters

    counts : senses of each lemma in the training text, the most frequent first.
    """

    def __init__(self, counts: Mapping[Lemma, Mapping[str, int]]) -> None:
        self._counts = counts
        self._rows: Dict[str, int] = {}
        for senses in counts.values():
            for sense in senses:
                self._rows.setdefault(sense, len(self._rows))
        self._sums: Optional[np.ndarray] = None  # (senses, layers, dim)

    def add(self, found: WordVectors) -> None:
        """Take training words into the averages of all their senses."""
        if self._sums is None:
            self._sums = np.zeros((len(self._rows),) + found.vectors.shape[1:], dtype=np.float32)
        for word, vectors in zip(found.words, found.vectors):
            for sense in word.senses:
                self._sums[self._rows[sense]] += vectors

    def answers(self, found: WordVectors, first: Mapping[Lemma, str]) -> List[List[Optional[str]]]:
        """
        Choose among the senses of the same lemma and part of speech by the cosine.

        # Parameters

        found : the words to choose for.
        first : the sense to take for a lemma that is not in the training text.

        # Returns

        For each layer the sense of each word; None where nothing is known about it.
        """
        assert self._sums is not None, "add training words first"
        layers = found.vectors.shape[1]
        result: List[List[Optional[str]]] = [[] for _ in range(layers)]
        for word, vectors in zip(found.words, found.vectors):
            senses = list(self._counts.get(word.lemma, ()))
            if not senses:
                for layer in range(layers):
                    result[layer].append(first.get(word.lemma))
                continue
            means = self._sums[[self._rows[sense] for sense in senses]]  # (senses, layers, dim)
            for layer in range(layers):
                # The sum has the direction of the mean.
                cosines = unit(means[:, layer]) @ unit(vectors[layer : layer + 1])[0]
                # Of equals the first is the most frequent. Static vectors of one form are equal but for their rounding.
                best = int(np.argmax(cosines >= cosines.max() - _EQUAL))
                result[layer].append(senses[best])
        return result
