"""The values that options of a biLM may have; what they may not have is a `ValueError` that says what is expected."""

from typing import Any, Tuple

from elmo_plugin.engine.json_section import positive
from elmo_plugin.engine.words import SPECIAL_WORDS

ACTIVATIONS = ("relu", "tanh")

# Files made for training count 261 symbols (bytes, boundaries, padding), files made for inference 262, because
# there every id moved up by one to make room for the mask. The weights are the same.
CHARACTER_COUNTS = (261, 262)

# begin-of-word, end-of-word and one byte: below that no word could be told from another
MIN_CHARACTERS_PER_TOKEN = 3

#: length of a row of character ids in all published biLMs
MAX_CHARACTERS_PER_TOKEN = 50


#: ids of characters are stored in two bytes
MOST_CHARACTERS = 32_000


def distinct_texts(value: Any) -> Tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise ValueError("a list of characters")
    if len(set(value)) != len(value) or len(value) > MOST_CHARACTERS:
        raise ValueError(f"at most {MOST_CHARACTERS} characters, each of them once")
    return tuple(value)


def row_length(value: Any) -> int:
    if positive(value) < MIN_CHARACTERS_PER_TOKEN:
        raise ValueError(f"at least {MIN_CHARACTERS_PER_TOKEN}: two word boundaries and one byte")
    return value


def vocabulary_size(value: Any) -> int:
    if positive(value) < len(SPECIAL_WORDS):
        raise ValueError(f"at least {len(SPECIAL_WORDS)}: <S>, </S> and <UNK> are words of a word-level model")
    return value


def filter_pairs(value: Any) -> Tuple[Tuple[int, int], ...]:
    message = "a list of [width, count] pairs, for example [[1, 32], [2, 32]]"
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError(message)
    pairs = []
    for pair in value:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError(message)
        try:
            pairs.append((positive(pair[0]), positive(pair[1])))
        except ValueError as error:
            raise ValueError(message) from error
    return tuple(pairs)
