"""
Words to the character ids of the biLM: bytes, word boundaries, padding (bilm-tf's `UnicodeCharsVocabulary`).

A word is a row of a fixed length: begin-of-word, its UTF-8 bytes, end-of-word, padding. Ids are one above the
symbols, so that 0 is left for rows that hold no word. Words with more bytes than the row has room for are cut.
"""

from typing import Iterable, List, Sequence

import numpy as np
import torch

from elmo_plugin.engine.errors import OptionsError, ShapeError
from elmo_plugin.engine.option_values import MAX_CHARACTERS_PER_TOKEN, MIN_CHARACTERS_PER_TOKEN
from elmo_plugin.engine.words import BEGIN_SENTENCE_WORD, END_SENTENCE_WORD

# symbols 0 to 255 are the bytes
BEGIN_SENTENCE = 256
END_SENTENCE = 257
BEGIN_WORD = 258
END_WORD = 259
PADDING = 260

#: rows of the character table in this engine: all symbols and the mask, which is 0
NUM_CHARACTER_IDS = PADDING + 2

_SPECIAL_SYMBOLS = {BEGIN_SENTENCE_WORD: BEGIN_SENTENCE, END_SENTENCE_WORD: END_SENTENCE}


def boundary_ids(symbol: int, max_characters: int = MAX_CHARACTERS_PER_TOKEN) -> np.ndarray:
    """
    Return the row of the begin or the end of a sentence.

    # Parameters

    symbol : `BEGIN_SENTENCE` or `END_SENTENCE`.
    max_characters : length of the row.

    # Returns

    `(max_characters,)`, int64.
    """
    row = np.full(max_characters, PADDING + 1, dtype=np.int64)
    row[:3] = BEGIN_WORD + 1, symbol + 1, END_WORD + 1
    return row


def words_to_ids(words: Sequence[str], max_characters: int = MAX_CHARACTERS_PER_TOKEN) -> np.ndarray:
    """
    Convert words to rows of character ids.

    Code points that UTF-8 cannot hold (lone surrogates) are left out, as AllenNLP and bilm-tf do. `<S>` and `</S>`
    are the ends of a sentence, not five characters.

    # Parameters

    words : any strings, the empty one included.
    max_characters : length of a row, at least 3.

    # Returns

    `(words, max_characters)`, int64, never 0.

    # Raises

    `OptionsError` where a row has no room for a byte between its boundaries.
    """
    if max_characters < MIN_CHARACTERS_PER_TOKEN:
        raise OptionsError(
            f"a row of {max_characters} characters was asked for, expected at least {MIN_CHARACTERS_PER_TOKEN}: "
            "two word boundaries and one byte. Take the biLM's max_characters_per_token."
        )
    room = max_characters - 2
    ids = np.full((len(words), max_characters), PADDING + 1, dtype=np.int64)
    if not len(words):
        return ids
    encoded = [word.encode("utf-8", "ignore")[:room] for word in words]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    symbols = np.frombuffer(b"".join(encoded), dtype=np.uint8)

    rows = np.repeat(np.arange(len(words)), lengths)
    starts = np.cumsum(lengths) - lengths
    columns = np.arange(len(symbols)) - np.repeat(starts, lengths) + 1
    ids[:, 0] = BEGIN_WORD + 1
    ids[rows, columns] = symbols.astype(np.int64) + 1
    ids[np.arange(len(words)), lengths + 1] = END_WORD + 1

    for row, word in enumerate(words):
        if word in _SPECIAL_SYMBOLS:
            ids[row] = boundary_ids(_SPECIAL_SYMBOLS[word], max_characters)
    return ids


def batch_to_ids(sentences: Iterable[Sequence[str]], max_characters: int = MAX_CHARACTERS_PER_TOKEN) -> torch.Tensor:
    """
    Convert tokenised sentences to one padded tensor of character ids.

    # Parameters

    sentences : lists of words; empty lists are rows of padding.
    max_characters : length of a row of ids, at least 3.

    # Returns

    `(sentences, longest sentence, max_characters)`, int64, 0 where there is no word.

    # Raises

    `ShapeError` where a sentence is a string, which would be read as a list of one-letter words; `OptionsError` as for
    `words_to_ids`.
    """
    listed: List[Sequence[str]] = list(sentences)
    for position, sentence in enumerate(listed):
        if isinstance(sentence, str):
            raise ShapeError(
                f"sentence {position} is the string {sentence[:40]!r}, expected a list of words. "
                "Split it first; the biLM does not tokenise."
            )
    lengths = np.array([len(sentence) for sentence in listed], dtype=np.int64)
    longest = int(lengths.max()) if len(lengths) else 0
    flat = words_to_ids([word for sentence in listed for word in sentence], max_characters)
    ids = np.zeros((len(listed), longest, max_characters), dtype=np.int64)
    ids[np.arange(longest) < lengths[:, None]] = flat
    return torch.from_numpy(ids)
