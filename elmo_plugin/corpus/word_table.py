"""Words as rows of a table, so that a word's characters and its target are looked up once, not at every place."""

from typing import Dict, List, Mapping, Optional, Sequence

import numpy as np

from elmo_plugin.engine.characters import words_to_ids
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.words import BEGIN_SENTENCE_WORD, END_SENTENCE_WORD, SPECIAL_WORDS, UNKNOWN_WORD


class _Rows(Dict[str, int]):
    """A dictionary that gives each new word the next row."""

    def __missing__(self, word: str) -> int:
        row = self[word] = len(self)
        return row


class WordTable:
    """
    Map words to rows; row 0 is `<S>`, row 1 is `</S>`.

    # Parameters

    vocabulary : word -> target of the language model; must hold `<S>`, `</S>` and `<UNK>`.
    max_characters : characters per word; `None` for a word-level biLM, whose inputs are targets + 1.
    max_words : of which `forget_if_full` forgets all: a text as large as one likes has as many words as one likes. Up
        to twice as many as one batch takes in are kept in any case, since a batch takes in whole blocks of text.
    """

    BEGIN_ROW, END_ROW = 0, 1

    def __init__(
        self, vocabulary: Mapping[str, int], max_characters: Optional[int] = 50, max_words: int = 1_000_000
    ) -> None:
        missing = [word for word in SPECIAL_WORDS if word not in vocabulary]
        if missing:
            raise OptionsError(
                f"language-model vocabulary: {', '.join(missing)} missing among {len(vocabulary)} words; it must "
                f"start with {', '.join(SPECIAL_WORDS)}. `allennlp elmo-vocabulary` makes one."
            )
        self._vocabulary = vocabulary
        self._max_characters = max_characters
        self._max_words = max_words
        self._needed_at_once = 0
        self._has_just_forgotten = False
        #: how often all words were forgotten; rows are those of one generation
        self.generation = 0
        self._begin()

    def _begin(self) -> None:
        self._rows = _Rows()
        self._known = 0
        self._targets = np.zeros(0, np.int64)
        self._characters = np.zeros((0, self._max_characters or 0), np.uint16)
        self.rows([BEGIN_SENTENCE_WORD, END_SENTENCE_WORD])

    def forget_if_full(self) -> None:
        """Begin anew where there are too many words, before a batch; rows that were given out mean nothing then."""
        if self._has_just_forgotten:
            self._needed_at_once, self._has_just_forgotten = len(self), False
        if len(self) > max(self._max_words, 2 * self._needed_at_once):
            self.generation += 1
            self._has_just_forgotten = True
            self._begin()

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """Rows of `words`, `(words,)` int32; new words are added."""
        rows = np.fromiter(map(self._rows.__getitem__, words), np.int32, len(words))
        if len(self._rows) > self._known:
            self._grow()
        return rows

    def targets(self, rows: np.ndarray) -> np.ndarray:
        """Targets of `rows`, same shape, int64."""
        return self._targets[rows]

    def is_unknown(self, rows: np.ndarray) -> np.ndarray:
        """Whether each word is missing in the vocabulary, same shape, bool."""
        return self._targets[rows] == self._vocabulary[UNKNOWN_WORD]

    def inputs(self, rows: np.ndarray) -> np.ndarray:
        """Inputs of the biLM for `rows`: character ids `(rows, max_characters)`, or word ids `(rows,)`; int64."""
        if self._max_characters is None:
            return self._targets[rows] + 1
        return self._characters[rows].astype(np.int64)

    def _grow(self) -> None:
        new: List[str] = list(self._rows)[self._known :]
        stop = self._known + len(new)
        if stop > len(self._targets):
            size = max(1024, stop + stop // 2)
            self._targets = _enlarged(self._targets, size)
            self._characters = _enlarged(self._characters, size)
        unknown = self._vocabulary[UNKNOWN_WORD]
        find = self._vocabulary.get
        self._targets[self._known : stop] = [find(word, unknown) for word in new]
        if self._max_characters is not None:
            self._characters[self._known : stop] = words_to_ids(new, self._max_characters)
        self._known = stop


def _enlarged(array: np.ndarray, size: int) -> np.ndarray:
    larger = np.zeros((size,) + array.shape[1:], array.dtype)
    larger[: len(array)] = array
    return larger
