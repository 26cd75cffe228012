"""
Words to the ids of a word-level biLM: their places in its vocabulary, counted from 1, so that 0 is left for the mask.

Every vocabulary starts with the same three words, as in bilm-tf: the ends of a sentence, and the one that stands for
all words that are not in it.
"""

from typing import Dict, List, Optional, Sequence

import numpy as np

from elmo_plugin.engine.errors import OptionsError, ShapeError

BEGIN_SENTENCE_WORD, END_SENTENCE_WORD, UNKNOWN_WORD = SPECIAL_WORDS = ("<S>", "</S>", "<UNK>")
BEGIN_SENTENCE_ID, END_SENTENCE_ID, UNKNOWN_ID = 1, 2, 3


def check_sentences(sentences: Sequence[Sequence[str]]) -> None:
    """Raise `ShapeError` where a sentence is a string, which would be read as a list of one-letter words."""
    for position, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise ShapeError(
                f"sentence {position} is the string {sentence[:40]!r}, expected a list of words. "
                "Split it first; the biLM does not tokenise."
            )


def index_vocabulary(vocabulary: Optional[List[str]], source: str) -> Dict[str, int]:
    """
    Give each word of a vocabulary its id.

    # Parameters

    vocabulary : the words in the order of the weights; None where the biLM came without.
    source : the biLM, for the message.

    # Raises

    `OptionsError` where there is no vocabulary, or it does not start with `SPECIAL_WORDS`.
    """
    if vocabulary is None:
        raise OptionsError(
            f"{source}: a word-level biLM needs its vocabulary, and there is none beside the weights. Put its "
            "vocabulary.txt, one word a line in the order of the weights, into the same folder."
        )
    if tuple(vocabulary[: len(SPECIAL_WORDS)]) != SPECIAL_WORDS:
        raise OptionsError(
            f"{source}: the vocabulary starts with {vocabulary[: len(SPECIAL_WORDS)]}, expected "
            f"{', '.join(SPECIAL_WORDS)}, because that is where a word-level biLM looks for them. Is it the vocabulary "
            "of these weights?"
        )
    return {word: place for place, word in enumerate(vocabulary, start=1)}


def index_words(words: Sequence[str], index: Dict[str, int]) -> np.ndarray:
    """
    Convert words to ids.

    # Parameters

    words : any words; unknown ones get the id of `<UNK>`.
    index : what `index_vocabulary` returned.

    # Returns

    `(words,)`, int64, never 0.
    """
    return np.fromiter((index.get(word, UNKNOWN_ID) for word in words), dtype=np.int64, count=len(words))
