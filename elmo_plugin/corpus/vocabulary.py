"""The language model's vocabulary: specials first, then words by falling count."""

from collections import Counter
from pathlib import Path
from typing import List, NamedTuple, Optional

import numpy as np

from elmo_plugin.corpus.text import Corpus
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.engine.words import SPECIAL_WORDS


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


def build_vocabulary(corpus: Corpus, max_size: Optional[int] = None, min_count: int = 1) -> VocabularyReport:
    """
    Count the words of a corpus in one pass and keep the most frequent ones.

    # Parameters

    max_size : most words to keep, the three specials included.
    min_count : least count of a word that is kept.
    """
    if max_size is not None and max_size <= len(SPECIAL_WORDS):
        raise OptionsError(
            f"vocabulary: max_size is {max_size}, expected more than the {len(SPECIAL_WORDS)} special entries "
            f"{', '.join(SPECIAL_WORDS)}."
        )
    counts: Counter[str] = Counter()
    sentences = 0
    for block in corpus.blocks():
        sentences += len(block)
        counts.update(word for words in block for word in words)
    tokens = sum(counts.values())
    types = len(counts)
    if not tokens:
        raise FormatError(f"vocabulary: {corpus.source!r} holds no words, expected one sentence a line.")
    for special in SPECIAL_WORDS:
        counts.pop(special, None)
    # Words of equal count in the order of their code points, so that the result does not depend on the order of shards.
    ranked = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    if max_size is not None:
        ranked = ranked[: max_size - len(SPECIAL_WORDS)]
    covered = sum(counts[word] for word in ranked)
    return VocabularyReport([*SPECIAL_WORDS, *ranked], corpus.lines, sentences, tokens, types, covered)


def is_in_order(targets: np.ndarray, n_words: int) -> bool:
    """
    Tell whether a vocabulary is likely to be sorted by falling counts, from a sample of text.

    Where it is, half of the tokens are among the first `sqrt(n_words)` words: the words of a text are about log-uniform
    (Zipf). In any other order, hardly any token is. A small sample, or a small vocabulary, tells nothing: True.

    # Parameters

    targets : `(tokens,)`, indices into the vocabulary.
    n_words : its size.
    """
    known = targets[targets >= len(SPECIAL_WORDS)] - len(SPECIAL_WORDS)
    if len(known) < 1000 or n_words < 1000:
        return True
    return bool((known < n_words**0.5).mean() > 0.1)


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
    """Write one word a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(word + "\n" for word in words), encoding="utf-8")
