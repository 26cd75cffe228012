"""
Words to the ids of a biLM that knows its characters by name, and may know words too (ELMoForManyLangs).

A word is a row: its place in the table of words, in two columns because ids are stored in two bytes, then its Unicode
characters between the boundaries of a word. Boundaries and padding have the ids that they have in a biLM of bytes
(`characters`); the ids around them are the unknown character and then the characters of the biLM, in their order.
"""

from typing import List, Optional, Sequence

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from elmo_plugin.engine import characters
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.word_rows import DTYPE, WordRows

#: the ends of a sentence, and the word for all that are not in the table; the first words of a vocabulary
BEGIN_SENTENCE_WORD, END_SENTENCE_WORD, UNKNOWN_WORD = SPECIAL_WORDS = ("<bos>", "<eos>", "<oov>")
BEGIN_SENTENCE_WORD_ID, END_SENTENCE_WORD_ID, UNKNOWN_WORD_ID = 1, 2, 3

#: columns of a row in front of the characters: the id of the word, divided by `WORDS_PER_COLUMN`, and what is left
WORD_COLUMNS = 2
WORDS_PER_COLUMN = 1 << 15

_FIRST_SPECIAL = characters.BEGIN_SENTENCE + 1
_SPECIALS = characters.NUM_CHARACTER_IDS - _FIRST_SPECIAL
_BOUNDARY_SYMBOLS = {BEGIN_SENTENCE_WORD: characters.BEGIN_SENTENCE, END_SENTENCE_WORD: characters.END_SENTENCE}


def character_ids(count: int) -> np.ndarray:
    """
    Return the id of the unknown character and, behind it, those of so many characters, `(count + 1,)` int64.

    # Parameters

    count : characters of the biLM.
    """
    ids = np.arange(1, count + 2)
    ids[ids >= _FIRST_SPECIAL] += _SPECIALS
    return ids


def num_character_ids(count: int) -> int:
    """Return the rows of the character table for so many characters."""
    return max(characters.NUM_CHARACTER_IDS, int(character_ids(count)[-1]) + 1)


def boundary_row(word: str, max_characters: int) -> np.ndarray:
    """
    Return the row of the begin or the end of a sentence, `(WORD_COLUMNS + max_characters,)` int64.

    # Parameters

    word : `BEGIN_SENTENCE_WORD` or `END_SENTENCE_WORD`.
    max_characters : columns for characters.
    """
    ends = characters.boundary_ids(_BOUNDARY_SYMBOLS[word], max_characters)
    return np.concatenate([[0, SPECIAL_WORDS.index(word) + 1], ends])


class Lexicon:
    """
    What turns words into ids.

    # Parameters

    options : of a biLM with a lexicon.
    vocabulary : the words of its table; None where it has no table.
    source : the biLM, for messages.

    # Raises

    `OptionsError` where the vocabulary is missing or another model's.
    """

    def __init__(self, options: BiLmOptions, vocabulary: Optional[List[str]], source: str) -> None:
        assert options.lexicon is not None and options.char_cnn is not None, options
        if options.needs_vocabulary:
            _check_vocabulary(vocabulary, source)
        known = options.lexicon.characters
        self._max_characters = options.char_cnn.max_characters_per_token
        self._words = {word: place for place, word in enumerate(vocabulary or (), start=1)}
        self._unknown, *ids = character_ids(len(known)).tolist()
        self._characters = dict(zip(known, ids))
        self._rows = WordRows(self._row, WORD_COLUMNS + self._max_characters)

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """
        Convert words.

        # Parameters

        words : any strings. What is longer than the row has room for is cut, and the word that is left is looked up.

        # Returns

        `(words, WORD_COLUMNS + max_characters)`, int16, each with an id that is not 0.
        """
        return self._rows.array(words)

    def batch(self, sentences: Sequence[Sequence[str]]) -> torch.Tensor:
        """Convert sentences to one padded tensor, `(sentences, words, ids)`, int64, 0 where there is no word."""
        rows = [torch.from_numpy(self.rows(sentence).astype(np.int64)) for sentence in sentences]
        if not rows:
            return torch.zeros((0, 0, WORD_COLUMNS + self._max_characters), dtype=torch.int64)
        return pad_sequence(rows, batch_first=True)

    def _row(self, word: str) -> bytes:
        word = word[: self._max_characters - 2]
        if word in _BOUNDARY_SYMBOLS:
            return boundary_row(word, self._max_characters).astype(DTYPE).tobytes()
        row = np.full(WORD_COLUMNS + self._max_characters, characters.PADDING + 1, dtype=DTYPE)
        row[:WORD_COLUMNS] = divmod(self._words.get(word, UNKNOWN_WORD_ID), WORDS_PER_COLUMN)
        ids = [self._characters.get(character, self._unknown) for character in word]
        row[WORD_COLUMNS : WORD_COLUMNS + len(ids) + 2] = [characters.BEGIN_WORD + 1, *ids, characters.END_WORD + 1]
        return row.tobytes()


def _check_vocabulary(vocabulary: Optional[List[str]], source: str) -> None:
    found = None if vocabulary is None else tuple(vocabulary[: len(SPECIAL_WORDS)])
    if found != SPECIAL_WORDS:
        raise OptionsError(
            f"{source}: this biLM has a table of words, whose first words are {', '.join(SPECIAL_WORDS)}, but the "
            f"vocabulary that came with it starts with {found}. Read the biLM again from its own files."
        )
