"""Sentences to what a biLM reads, whatever its token layer knows."""

from typing import Callable, List, Optional, Sequence

import torch
from torch.nn.utils.rnn import pad_sequence

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.lexicon import Lexicon
from elmo_plugin.engine.words import check_sentences, index_vocabulary, index_words

Sentences = Sequence[Sequence[str]]


class SentenceIds:
    """
    Converts sentences for one biLM. What it takes to look words up is made once, with the object.

    # Parameters

    bilm : decides about characters or words, the length of a row of characters, and the device.
    vocabulary : the words of a biLM that knows them by name.

    # Raises

    `OptionsError` where the biLM knows words by name and the vocabulary is missing or another model's.
    """

    def __init__(self, bilm: BiLm, vocabulary: Optional[List[str]] = None) -> None:
        self._bilm = bilm
        self._convert = _converter(bilm, vocabulary)

    def __call__(self, sentences: Sentences) -> torch.Tensor:
        """
        Convert lists of words.

        # Returns

        `(sentences, words, characters)`, or `(sentences, words)` for a word-level biLM; int64, 0 for padding.

        # Raises

        `ShapeError` as `words.check_sentences`.
        """
        check_sentences(sentences)
        return self._convert(sentences).to(self._bilm.token_encoder.boundaries.device)


def _converter(bilm: BiLm, vocabulary: Optional[List[str]]) -> Callable[[Sentences], torch.Tensor]:
    length = bilm.options.max_characters_per_token
    if bilm.options.lexicon is not None:
        return Lexicon(bilm.options, vocabulary, "the biLM").batch
    if length is not None:
        return lambda sentences: batch_to_ids(sentences, length)
    index = index_vocabulary(vocabulary, "the biLM")
    return lambda sentences: _padded([torch.from_numpy(index_words(sentence, index)) for sentence in sentences])


def _padded(rows: List[torch.Tensor]) -> torch.Tensor:
    return pad_sequence(rows, batch_first=True) if rows else torch.zeros((0, 0), dtype=torch.int64)
