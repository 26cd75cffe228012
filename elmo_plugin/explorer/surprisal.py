"""How unexpected each word of a sentence is, from its left and from its right."""

import math
from typing import List, NamedTuple, Sequence

import numpy as np

from elmo_plugin.explorer.explorer import Explorer


class WordSurprisal(NamedTuple):
    """
    A word, or a boundary of the sentence.

    # Parameters

    word : as it is spelled; empty for a boundary.
    forward : bits, given the words before it; NaN for the beginning.
    backward : bits, given the words behind it; NaN for the end.
    is_unknown : not in the vocabulary, so that the bits are those of any unknown word.
    """

    word: str
    forward: float
    backward: float
    is_unknown: bool = False


class Surprisal(NamedTuple):
    """
    A sentence.

    # Parameters

    words : of the sentence, between its boundaries.
    perplexity : over both directions, boundaries included.
    """

    words: List[WordSurprisal]
    perplexity: float


def surprisal(explorer: Explorer, sentence: Sequence[str]) -> Surprisal:
    """
    Score a sentence with the language model.

    # Raises

    `PageError` where the weights have no softmax.
    """
    found = explorer.log_probabilities(sentence)
    nothing = float("nan")
    inner = zip(sentence, _bits(found.forward), _bits(found.backward), found.is_unknown.tolist())
    words = [
        WordSurprisal("", nothing, -found.begin / math.log(2)),
        *(WordSurprisal(*word) for word in inner),
        WordSurprisal("", -found.end / math.log(2), nothing),
    ]
    return Surprisal(words, found.perplexity)


def _bits(log_probabilities: np.ndarray) -> List[float]:
    return (-log_probabilities / math.log(2)).tolist()
