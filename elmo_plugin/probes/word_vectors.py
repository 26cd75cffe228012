"""The vectors of the words that have senses, window by window: no text has to fit the memory with its vectors."""

from typing import Callable, Iterator, List, NamedTuple, Optional

import numpy as np

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.probes.senses import SenseText, SenseWord

_TOKENS = 16384


class WordVectors(NamedTuple):
    """
    Words and their vectors.

    # Parameters

    words : with senses.
    vectors : of each, `(words, layers, dim)` float32; of a multiword unit the mean of its tokens' vectors.
    """

    words: List[SenseWord]
    vectors: np.ndarray


def word_vectors(
    text: SenseText, embedder: SentenceEmbedder, on_progress: Optional[Callable[[float], None]] = None
) -> Iterator[WordVectors]:
    """
    Embed a text.

    # Parameters

    text : with senses.
    embedder : of several layers, with a state that makes a sentence independent of others.
    on_progress : called with the share of the sentences that are done.
    """
    begin = place = 0
    while begin < len(text.sentences):
        end, tokens = begin, 0
        while end < len(text.sentences) and tokens < _TOKENS:
            tokens += len(text.sentences[end])
            end += 1
        stop = place
        while stop < len(text.words) and text.words[stop].sentence < end:
            stop += 1
        if stop > place:
            yield _of_window(text, embedder, begin, end, text.words[place:stop])
        begin, place = end, stop
        if on_progress is not None:
            on_progress(end / len(text.sentences))


def _of_window(
    text: SenseText, embedder: SentenceEmbedder, begin: int, end: int, words: List[SenseWord]
) -> WordVectors:
    sentences = text.sentences[begin:end]
    starts = np.cumsum([0, *map(len, sentences)])
    vectors = embedder.embed(sentences)  # (tokens, layers, dim)
    firsts = np.array([starts[word.sentence - begin] + word.start for word in words])
    lengths = np.array([word.stop - word.start for word in words])
    taken = vectors[firsts]
    for row in np.flatnonzero(lengths > 1):
        taken[row] = vectors[firsts[row] : firsts[row] + lengths[row]].mean(axis=0)
    return WordVectors(words, taken)
