"""The language model's vocabulary: specials first, then words by falling count."""

import heapq
from collections import Counter
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from elmo_plugin.corpus.text import Corpus
from elmo_plugin.corpus.word_counts import WordCounts
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.engine.words import SPECIAL_WORDS

#: words of a text from which the order of its vocabulary can be told
ORDER_SAMPLE = 1000


class VocabularyReport(NamedTuple):
    """A vocabulary and what it covers of the text that it was made from."""

    words: List[str]
    lines: int
    sentences: int
    tokens: int
    types: int
    covered_tokens: int

    @property
    def coverage(self) -> float:
        """Share of the tokens that are in the vocabulary."""
        return self.covered_tokens / self.tokens if self.tokens else 0.0


def build_vocabulary(
    corpus: Corpus, max_size: Optional[int] = None, min_count: int = 1, max_words: int = 2_000_000
) -> VocabularyReport:
    """
    Count the words of a corpus in one pass, exactly and in bounded memory, and keep the most frequent ones.

    # Parameters

    max_size : most words to keep, the three specials included.
    min_count : least count of a word that is kept.
    max_words : distinct words that are counted in memory; more are counted in temporary files.
    """
    if max_size is not None and max_size <= len(SPECIAL_WORDS):
        raise OptionsError(
            f"vocabulary: max_size is {max_size}, expected more than the {len(SPECIAL_WORDS)} special entries "
            f"{', '.join(SPECIAL_WORDS)}."
        )
    sentences = types = 0
    with WordCounts(max_words) as counts:
        for block in corpus.blocks():
            sentences += len(block)
            for words in block:
                counts.update(words)
        if not counts.tokens:
            raise FormatError(f"vocabulary: {corpus.source!r} holds no words, expected one sentence a line.")

        def frequent() -> Iterator[Tuple[int, str]]:
            nonlocal types
            for word, count in counts.items():
                types += 1
                if count >= min_count and word not in SPECIAL_WORDS:
                    yield -count, word

        # Words of equal count in the order of their code points: the result does not depend on the order of shards.
        if max_size is None:
            ranked = sorted(frequent())
        else:
            ranked = heapq.nsmallest(max_size - len(SPECIAL_WORDS), frequent())
    covered = -sum(count for count, _ in ranked)
    found = [*SPECIAL_WORDS, *(word for _, word in ranked)]
    return VocabularyReport(found, corpus.lines, sentences, counts.tokens, types, covered)


def known_words(targets: np.ndarray) -> np.ndarray:
    """Of targets of any shape those that are words of the vocabulary, neither special nor ignored: `(tokens,)`."""
    return targets[targets >= len(SPECIAL_WORDS)]


def is_in_order(words: np.ndarray, n_words: int) -> bool:
    """
    Tell whether a vocabulary is likely to be sorted by falling counts, from a sample of text.

    Where it is, half of the tokens are among the first `sqrt(n_words)` words: the words of a text are about log-uniform
    (Zipf). In any other order, hardly any token is. A sample of fewer than `ORDER_SAMPLE` words, or a small vocabulary,
    tells nothing: True.

    # Parameters

    words : `(tokens,)`, indices into the vocabulary, of `known_words`.
    n_words : its size.
    """
    if len(words) < ORDER_SAMPLE or n_words < 1000:
        return True
    return bool((words - len(SPECIAL_WORDS) < n_words**0.5).mean() > 0.1)


def read_vocabulary(path: Path) -> List[str]:
    """
    Read a vocabulary file, one word a line.

    # Raises

    `FormatError` when it does not start with `<S>`, `</S>`, `<UNK>` or holds a word twice.
    """
    try:
        words = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: {error}; expected one word a line in UTF-8.") from error
    if words and words[-1] == "":
        words.pop()
    if tuple(words[:3]) != SPECIAL_WORDS:
        raise FormatError(f"{path}: starts with {words[:3]}, expected {list(SPECIAL_WORDS)} on the first three lines.")
    if len(set(words)) != len(words):
        twice = [word for word, count in Counter(words).items() if count > 1][:5]
        raise FormatError(
            f"{path}: {len(words) - len(set(words))} words are repeated, among them {twice}; expected each once."
        )
    return words


def write_vocabulary(words: List[str], path: Path) -> None:
    """Write one word a line, read as bilm-tf's `Vocabulary` does."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(word + "\n" for word in words)
