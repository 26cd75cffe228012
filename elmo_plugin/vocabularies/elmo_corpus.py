"""The language model's vocabulary as an AllenNLP vocabulary, so that it is part of the archive."""

import logging
from pathlib import Path
from typing import Any, List, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from elmo_plugin.corpus.text import Corpus
from elmo_plugin.corpus.vocabulary import build_vocabulary, read_vocabulary
from elmo_plugin.formats import read_options

logger = logging.getLogger(__name__)

NAMESPACE = "elmo_lm"


class ElmoCorpusVocabulary(Vocabulary):
    """
    Build the vocabulary of a language model in the namespace `elmo_lm`: `<S>`, `</S>`, `<UNK>`, then falling counts.

    Registered as a `Vocabulary` with name "elmo_corpus" (constructor `from_corpus`).
    """

    @classmethod
    def from_corpus(
        cls,
        corpus: Any = None,
        file: Optional[str] = None,
        weights: Optional[str] = None,
        max_size: Optional[int] = None,
        min_count: int = 1,
        namespace: str = NAMESPACE,
    ) -> "ElmoCorpusVocabulary":
        """
        Count the words of a text, read a vocabulary file, or keep the vocabulary of a biLM.

        # Parameters

        corpus : text to count: a file, a folder, a pattern or a list of these.
        file : instead of `corpus`: vocabulary file, one word a line, as `allennlp elmo-vocabulary` writes it.
        weights : the biLM that is trained on, as the model's `weights`: keep its vocabulary. With `corpus` as well, the
            words of the text are counted if the biLM comes without a vocabulary.
        max_size, min_count : of `corpus`: most words (specials included), least count of a word.
        """
        if (corpus is None and weights is None) == (file is None):
            raise ConfigurationError(
                "vocabulary 'elmo_corpus': give either 'corpus', 'file' or 'weights'; only 'corpus' and 'weights' go "
                "together."
            )
        if corpus is None and (max_size is not None or min_count != 1):
            raise ConfigurationError(
                f"vocabulary 'elmo_corpus': max_size {max_size} and min_count {min_count} belong to a 'corpus' whose "
                "words are counted, missing. A vocabulary is read as it is."
            )
        words = None if weights is None else _words_of(weights, may_count=corpus is not None)
        if file is not None:
            words = read_vocabulary(Path(file))
        elif words is None:
            report = build_vocabulary(Corpus(corpus), max_size, min_count)
            logger.info(
                "vocabulary: %d words with <S>, </S>, <UNK>; the text has %d, and %.2f %% of its %d tokens are covered",
                len(report.words),
                report.types,
                100 * report.coverage,
                report.tokens,
            )
            words = report.words
        # AllenNLP's vocabulary files hold this for a line break, so that such a word would be read back as another.
        words = [word for word in words if "@@NEWLINE@@" not in word]
        return cls(non_padded_namespaces=["*tags", "*labels", namespace], tokens_to_add={namespace: words})


def _words_of(weights: str, may_count: bool) -> Optional[List[str]]:
    _, words = read_options(weights)
    if words is not None:
        logger.info("vocabulary: the %d words of %s", len(words), weights)
    elif may_count:
        logger.info("vocabulary: %s comes without one; the words of the text are counted", weights)
    else:
        raise ConfigurationError(
            f"vocabulary 'elmo_corpus': {weights} comes without a vocabulary. Give the 'file' of the vocabulary it was "
            "trained with in place of 'weights', or 'corpus' as well, to count the words of a text. Where it comes "
            "without a softmax too, experiments/finetuning/softmax.jsonnet trains both; go on from its archive."
        )
    return words


Vocabulary.register("elmo_corpus", constructor="from_corpus")(ElmoCorpusVocabulary)
