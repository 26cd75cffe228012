"""Word vectors trained on the text that the biLM is trained on: what a baseline without ELMo may know of it."""

import importlib
from pathlib import Path
from typing import Any, Iterator, List

from elmo_plugin.formats.atomic import replacing

DIM = 100


def train_vectors(corpus: str, target: Path, epochs: int = 5, min_count: int = 5, workers: int = 1) -> int:
    """
    Train skip-gram vectors of lower-cased words (word2vec) and write them as lines of text, for AllenNLP's `embedding`.

    # Parameters

    corpus : files, a folder or a pattern; one tokenised sentence a line.
    target : the file; it is there when it is complete.
    epochs, min_count, workers : of gensim's Word2Vec; one worker makes the same vectors each time, several are
        faster and do not.

    # Returns

    How many words have a vector.

    # Raises

    `ImportError` where gensim is not installed; `ValueError` where no word is as frequent as it has to be.
    """
    try:
        gensim = importlib.import_module("gensim.models")
    except ImportError as error:
        raise ImportError(
            "word vectors are trained by gensim, which is not installed: pip install gensim. Or give vectors of "
            f"{DIM} dimensions, a word and its numbers per line, by --vectors."
        ) from error

    sentences = _Sentences(corpus)
    model = gensim.Word2Vec(vector_size=DIM, sg=1, epochs=epochs, min_count=min_count, workers=workers, seed=1)
    model.build_vocab(sentences)
    if not len(model.wv):
        raise ValueError(f"{corpus}: no word occurs {min_count} times, as it has to for a vector. Give more text.")
    model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    with replacing(target) as part, open(part, "w", encoding="utf-8") as file:
        for word, vector in zip(model.wv.index_to_key, model.wv.vectors):
            file.write(word + " " + " ".join(f"{value:.5f}" for value in vector) + "\n")
    return len(model.wv)


class _Sentences:
    """The sentences of a corpus, as often as they are asked for."""

    def __init__(self, corpus: str) -> None:
        from elmo_plugin.corpus.text import Corpus

        self._corpus: Any = Corpus([corpus])

    def __iter__(self) -> Iterator[List[str]]:
        for block in self._corpus.blocks():
            for sentence in block:
                yield [word.lower() for word in sentence]
