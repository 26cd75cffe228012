"""
Words to the character ids of the biLM: bytes, word boundaries, padding (bilm-tf's `UnicodeCharsVocabulary`).

A word is a row of a fixed length: begin-of-word, its UTF-8 bytes, end-of-word, padding. Ids are one above the
symbols, so that 0 is left for rows that hold no word. Words with more bytes than the row has room for are cut.
"""

import sys
from functools import lru_cache
from typing import Callable, Iterable, List, Mapping, Sequence, Tuple

import numpy as np
import torch

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.option_values import MAX_CHARACTERS_PER_TOKEN, MIN_CHARACTERS_PER_TOKEN
from elmo_plugin.engine.word_rows import DTYPE, WordRows, join_rows
from elmo_plugin.engine.words import BEGIN_SENTENCE_WORD, END_SENTENCE_WORD, check_sentences

# symbols 0 to 255 are the bytes
BEGIN_SENTENCE = 256
END_SENTENCE = 257
BEGIN_WORD = 258
END_WORD = 259
PADDING = 260

#: rows of the character table in this engine: all symbols and the mask, which is 0
NUM_CHARACTER_IDS = PADDING + 2

# ids as characters
_BEGIN_WORD, _END_WORD, _PADDING = (chr(symbol + 1) for symbol in (BEGIN_WORD, END_WORD, PADDING))
_UTF_16 = f"utf-16-{sys.byteorder[0]}e"
# UTF-8 has no byte 255, whose id would need a second byte
_BYTES_TO_IDS = bytes(range(1, 256)) + b"\0"

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
    convert = _row_maker(max_characters, _SPECIAL_SYMBOLS)
    return join_rows(map(convert, words), max_characters).astype(np.int64)


@lru_cache(maxsize=16)
def remembered_rows(
    max_characters: int = MAX_CHARACTERS_PER_TOKEN, added_symbols: Tuple[Tuple[str, int], ...] = ()
) -> WordRows:
    """
    Return the memory of rows of one kind, which everyone in this process shares.

    # Parameters

    max_characters : length of a row, at least 3.
    added_symbols : words that stand for one symbol, beside the ends of a sentence, and their symbols.

    # Raises

    `OptionsError` as for `words_to_ids`.
    """
    return WordRows(_row_maker(max_characters, {**_SPECIAL_SYMBOLS, **dict(added_symbols)}), max_characters)


def _row_maker(max_characters: int, symbols: Mapping[str, int]) -> Callable[[str], bytes]:
    """
    Return what converts one word to a row in `DTYPE`.

    A row of ids is text in UTF-16, one code unit an id, so that no loop over its characters is needed.
    """
    if max_characters < MIN_CHARACTERS_PER_TOKEN:
        raise OptionsError(
            f"a row of {max_characters} characters was asked for, expected at least {MIN_CHARACTERS_PER_TOKEN}: "
            "two word boundaries and one byte. Take the biLM's max_characters_per_token."
        )
    special = {word: boundary_ids(symbol, max_characters).astype(DTYPE).tobytes() for word, symbol in symbols.items()}

    def convert(word: str) -> bytes:
        if word in special:
            return special[word]
        content = word.encode("utf-8", "ignore")[: max_characters - 2].translate(_BYTES_TO_IDS).decode("latin-1")
        return f"{_BEGIN_WORD}{content}{_END_WORD}".ljust(max_characters, _PADDING).encode(_UTF_16)

    return convert


def batch_to_ids(sentences: Iterable[Sequence[str]], max_characters: int = MAX_CHARACTERS_PER_TOKEN) -> torch.Tensor:
    """
    Convert tokenised sentences to one padded tensor of character ids.

    # Parameters

    sentences : lists of words; empty lists are rows of padding.
    max_characters : length of a row of ids, at least 3.

    # Returns

    `(sentences, longest sentence, max_characters)`, int64, 0 where there is no word.

    # Raises

    `ShapeError` as `check_sentences`, `OptionsError` as `words_to_ids`.
    """
    listed: List[Sequence[str]] = list(sentences)
    check_sentences(listed)
    known = remembered_rows(max_characters)
    lengths = [len(sentence) for sentence in listed]
    longest = max(lengths, default=0)
    rows = known.rows([word for sentence in listed for word in sentence])
    padding = bytes(max_characters * DTYPE.itemsize)
    pieces: List[bytes] = []
    start = 0
    for length in lengths:
        pieces += rows[start : start + length]
        pieces.append(padding * (longest - length))
        start += length
    ids = join_rows(pieces, max_characters).astype(np.int64)
    return torch.from_numpy(ids.reshape(len(listed), longest, max_characters))
