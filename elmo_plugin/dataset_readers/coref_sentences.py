"""Documents with coreference, their sentences, speakers and genres."""

import random
import re
from copy import deepcopy
from typing import Any, Dict, Iterable, List, Optional, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance, Token, TokenIndexer
from allennlp.data.fields import MetadataField, TextField
from allennlp_models.common.ontonotes import Ontonotes, OntonotesSentence
from allennlp_models.coref.dataset_readers.conll import ConllCorefReader
from allennlp_models.coref.util import _normalize_word
from overrides import overrides

from elmo_plugin.adapters.conll_files import fault_at_end
from elmo_plugin.adapters.patterns import matching

Clusters = List[List[Tuple[int, int]]]
#: document, part, number, word, tag, parse, predicate, frame, sense, speaker, named entity and mentions
_COLUMNS = 12


@DatasetReader.register("coref_sentences")
class CorefSentencesReader(ConllCorefReader):
    """
    Read files in the columns of CoNLL-2012, as AllenNLP's `coref` does, for the model `sentence_coref`.

    It needs to know where sentences end, who speaks and what the genre is (Lee et al. 2017). Registered as
    "coref_sentences".

    # Parameters

    max_span_width, token_indexers, remove_singleton_clusters : as in `coref`.
    max_sentences : of a longer document as many sentences in a row, from a random place (`coref` takes the first ones):
        another place each time the document is read. The vocabulary has the words of all of them.
    genre_pattern : the first group of this regular expression in the name of a document is its genre, "-" where there
        is none. The default fits OntoNotes: "nw" of "nw/wsj/24/wsj_2415".
    """

    def __init__(
        self,
        max_span_width: int,
        max_sentences: Optional[int] = None,
        genre_pattern: str = r"^(\w+)/",
        **kwargs: Any,
    ) -> None:
        for name, number in (("max_span_width", max_span_width), ("max_sentences", max_sentences)):
            if number is not None and number < 1:
                raise ConfigurationError(f'coref_sentences: "{name}" is {number}, expected at least 1.')
        super().__init__(max_span_width, **kwargs)
        self._longest = max_sentences
        self._genre_pattern = re.compile(genre_pattern)
        if self._genre_pattern.groups == 0:
            raise ConfigurationError(
                f'coref_sentences: "genre_pattern" is {genre_pattern!r}, expected a group in it, as in "^(\\w+)/".'
            )

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterable[Instance]:
        for path in matching(file_path) or [file_path]:
            try:
                fault = fault_at_end(path)
            except UnicodeDecodeError as error:
                fault = f"{error}; expected text in UTF-8: convert it"
            if fault is not None:
                raise ConfigurationError(f"{path}: {fault}.")
            documents = 0
            for document in _Parser(path).dataset_document_iterator(path):
                documents += 1
                _check_document(path, document)
                part = self._part(len(document))
                sentences = document[part]
                if sentences:
                    found = self._genre_pattern.search(sentences[0].document_id or "")
                    genre = found.group(1) if found else None
                    instance = self.text_to_instance(
                        [sentence.words for sentence in sentences],
                        _clusters(sentences),
                        [speaker or "-" for sentence in sentences for speaker in sentence.speakers],
                        "-" if genre is None else genre,
                    )
                    left_out = document[: part.start] + document[part.stop :]
                    instance["metadata"].left_out = [word for sentence in left_out for word in sentence.words]
                    yield instance
            if documents == 0:
                raise ConfigurationError(
                    f"{path}: no document, expected at least one. Complete the file, or remove it."
                )

    def _part(self, length: int) -> slice:
        """Which of so many sentences to take."""
        if self._longest is None or length <= self._longest:
            return slice(0, length)
        first = random.randint(0, length - self._longest)
        return slice(first, first + self._longest)

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        sentences: List[List[str]],
        gold_clusters: Optional[Clusters] = None,
        speakers: Optional[List[str]] = None,
        genre: Optional[str] = None,
    ) -> Instance:
        """
        Make an instance.

        # Parameters

        sentences : the words of the document.
        gold_clusters : first and last word of each mention, counted in the document.
        speakers : of each word; None where nobody is known.
        genre : None where it is not known.

        # Raises

        `ConfigurationError` where there is no word, or there are more or fewer speakers than words.
        """
        sentences = [sentence for sentence in sentences if sentence]
        if not sentences:
            raise ConfigurationError("coref_sentences: a document without a word, expected at least one. Leave it out.")
        lengths = [len(sentence) for sentence in sentences]
        speakers = ["-"] * sum(lengths) if speakers is None else speakers
        if len(speakers) != sum(lengths):
            raise ConfigurationError(f"{len(speakers)} speakers for {sum(lengths)} words, expected one for each.")
        instance = super().text_to_instance(sentences, gold_clusters)
        numbers: Dict[str, int] = {}
        about = instance["metadata"].metadata
        about["sentence_lengths"] = lengths
        about["speakers"] = [numbers.setdefault(speaker, len(numbers)) for speaker in speakers]
        about["genre"] = genre
        instance.add_field("metadata", DocumentField(about, self._token_indexers))
        return instance


class DocumentField(MetadataField):
    """
    What the model is told about a document: nothing of it is a tensor, but the vocabulary has its genre, and the words
    of the sentences that are not in the instance this time.

    # Parameters

    metadata : with "genre".
    token_indexers : of the document's text.
    """

    __slots__ = ["left_out", "_token_indexers"]

    def __init__(self, metadata: Dict[str, Any], token_indexers: Dict[str, TokenIndexer]) -> None:
        super().__init__(metadata)
        self.left_out: List[str] = []
        self._token_indexers = token_indexers

    @overrides
    def count_vocab_items(self, counter: Dict[str, Dict[str, int]]) -> None:
        if self.metadata["genre"] is not None:
            counter["genre_tags"][self.metadata["genre"]] += 1
        tokens = [Token(_normalize_word(word)) for word in self.left_out]
        TextField(tokens, self._token_indexers).count_vocab_items(counter)

    @overrides(check_signature=False)
    def duplicate(self) -> "DocumentField":
        """As of AllenNLP's text fields: the indexers are shared, which may be large."""
        field = DocumentField(deepcopy(self.metadata), self._token_indexers)
        field.left_out = list(self.left_out)
        return field


class _Parser(Ontonotes):
    """AllenNLP's parser, which says where it finds what it cannot read."""

    def __init__(self, path: str) -> None:
        self._path = path

    @overrides(check_signature=False)
    def _conll_rows_to_sentence(self, conll_rows: List[str]) -> OntonotesSentence:
        try:
            sentence = super()._conll_rows_to_sentence(conll_rows)
        except (IndexError, ValueError) as error:
            short = [row for row in conll_rows if len(row.split()) < _COLUMNS]
            raise ConfigurationError(
                f"{self._path}: {error} in the {'line' if short else 'sentence that begins with the line'} "
                f"{(short or conll_rows)[0]!r}. Expected the columns of CoNLL-2012, {_COLUMNS} at least, with the "
                "mentions in the last one. Correct the file."
            ) from error
        mentions = "".join(row.split()[-1] for row in conll_rows)
        if mentions.count("(") != mentions.count(")"):
            raise ConfigurationError(
                f"{self._path}: {mentions.count('(')} mentions begin and {mentions.count(')')} end in the sentence "
                f"that begins with the line {conll_rows[0]!r}, expected as many of both in the last column. Correct "
                "the file."
            )
        return sentence


def _check_document(path: str, document: List[OntonotesSentence]) -> None:
    """Refuse documents that AllenNLP's parser takes for one, whose entities it would take for the same."""
    parts = sorted({f"{sentence.document_id}, part {sentence.sentence_id}" for sentence in document})
    if len(parts) > 1:
        raise ConfigurationError(
            f'{path}: {len(parts)} documents without "#end document" between them: {"; ".join(parts[:3])}. Put that '
            "line behind each of them."
        )


def _clusters(sentences: List[OntonotesSentence]) -> Clusters:
    """The mentions of each entity, counted from the first word of these sentences."""
    clusters: Dict[int, List[Tuple[int, int]]] = {}
    offset = 0
    for sentence in sentences:
        for entity, (first, last) in sentence.coref_spans:
            clusters.setdefault(entity, []).append((first + offset, last + offset))
        offset += len(sentence.words)
    return list(clusters.values())
