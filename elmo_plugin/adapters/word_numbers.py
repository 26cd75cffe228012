"""The words of a word-level biLM and their ids."""

from typing import Dict, List, Optional, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError

# bilm-tf's vocabularies start with <S>, </S>, <UNK>; ids are one above the position, because 0 is the mask.
UNKNOWN_WORD = "<UNK>"
UNKNOWN_ID = 3


def number_words(vocabulary: Optional[List[str]], source: str) -> Dict[str, int]:
    """
    Give each word of a vocabulary its id.

    # Parameters

    vocabulary : the words in the order of the weights; None where the biLM came without.
    source : the biLM, for the message.

    # Raises

    `ConfigurationError` where there is no vocabulary, or it does not start as bilm-tf's do.
    """
    if vocabulary is None:
        raise ConfigurationError(
            f"{source}: a word-level biLM needs its vocabulary, and there is none beside the weights. Put its "
            "vocabulary.txt, one word a line in the order of the weights, into the same folder."
        )
    if len(vocabulary) < UNKNOWN_ID or vocabulary[UNKNOWN_ID - 1] != UNKNOWN_WORD:
        raise ConfigurationError(
            f"{source}: the vocabulary starts with {vocabulary[:3]}, expected <S>, </S>, {UNKNOWN_WORD}, because that "
            "is where bilm-tf's models look for them. Is it the vocabulary of these weights?"
        )
    return {word: number for number, word in enumerate(vocabulary, start=1)}


def numbers_of(words: Sequence[str], table: Dict[str, int]) -> np.ndarray:
    """Convert words to their ids, `(words,)` int64; unknown words get that of `<UNK>`."""
    return np.fromiter((table.get(word, UNKNOWN_ID) for word in words), dtype=np.int64, count=len(words))
