"""The language model's vocabulary as an AllenNLP vocabulary, so that it is part of the archive."""

import logging
from pathlib import Path
from typing import Any, List, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from elmo_plugin.corpus.text import Corpus
from elmo_plugin.corpus.vocabulary import build_vocabulary, read_vocabulary

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
        max_size: Optional[int] = None,
        min_count: int = 1,
        namespace: str = NAMESPACE,
    ) -> "ElmoCorpusVocabulary":
        """
        Count the words of a text, or read a vocabulary file.

        # Parameters

        corpus : text to count: a file, a folder, a pattern or a list of these.
        file : instead of `corpus`: vocabulary file, one word a line, as `allennlp elmo-vocabulary` writes it.
        max_size, min_count : of `corpus`: most words (specials included), least count of a word.
        """
        if (corpus is None) == (file is None):
            raise ConfigurationError("vocabulary 'elmo_corpus': give either 'corpus' or 'file'.")
        words: List[str]
        if file is not None:
            words = read_vocabulary(Path(file))
        else:
            report = build_vocabulary(Corpus(corpus), max_size, min_count)
            logger.info(
                "vocabulary: %d of %d distinct words cover %.2f %% of %d tokens",
                len(report.words),
                report.types,
                100 * report.coverage,
                report.tokens,
            )
            words = report.words
        # AllenNLP's vocabulary files hold this for a line break, so that such a word would be read back as another.
        words = [word for word in words if "@@NEWLINE@@" not in word]
        return cls(non_padded_namespaces=["*tags", "*labels", namespace], tokens_to_add={namespace: words})


Vocabulary.register("elmo_corpus", constructor="from_corpus")(ElmoCorpusVocabulary)
