"""Tokenised text for the language model as an AllenNLP dataset reader."""

from typing import Any, Iterable, Iterator, List, Mapping, Optional, Set, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import Field, ListField, MetadataField, TextField
from overrides import overrides
from torch import distributed

from elmo_plugin.corpus.text import Corpus, Shard, Source
from elmo_plugin.corpus.word_table import WordTable


@DatasetReader.register("elmo_corpus")
class ElmoCorpusReader(DatasetReader):
    """
    Read text of one sentence a line, words separated by white space, plain or gzip; or the text of any task.

    A data path is a file, a folder, a glob pattern or a list of these. The data loader `elmo_corpus` makes batches.

    # Parameters

    max_characters_per_token : length of a word's row of character ids; must be the biLM's.
    word_level : give word ids instead of characters, for a biLM without a character CNN.
    max_sentences : keep only the first sentences.
    block_sentences : sentences held in memory, and range of their shuffling.
    task_reader : take the text out of the files of a task, by the task's own reader: each text field of an instance
        is a sentence. To fine-tune a biLM on a task's text. A data path is what this reader takes, or a list of these.
    fields : of `task_reader`: the text fields to take; by default all of them.
    distinct : of `task_reader`: take equal texts of a file once, such as a paragraph that many questions are about.

    Registered as "elmo_corpus".
    """

    def __init__(
        self,
        max_characters_per_token: int = 50,
        word_level: bool = False,
        max_sentences: Optional[int] = None,
        block_sentences: int = 100_000,
        task_reader: Optional[DatasetReader] = None,
        fields: Optional[List[str]] = None,
        distinct: bool = False,
        **kwargs: Any,
    ) -> None:
        # Each process opens its share of the text; AllenNLP would share that out again.
        super().__init__(manual_distributed_sharding=True, **kwargs)
        if self.max_instances is not None:
            raise ConfigurationError(
                f"dataset reader 'elmo_corpus': max_instances is {self.max_instances}, but the data loader "
                "'elmo_corpus' reads text, not instances. Give max_sentences."
            )
        if (fields is not None or distinct) and task_reader is None:
            raise ConfigurationError(
                "dataset reader 'elmo_corpus': fields and distinct belong to a task_reader, missing."
            )
        if task_reader is not None and max_sentences is not None and is_distributed():
            raise ConfigurationError(
                "dataset reader 'elmo_corpus': in distributed training a task_reader gives each process a share of its "
                "own, so that max_sentences would be another number of sentences. Leave it out."
            )
        self._max_characters = None if word_level else max_characters_per_token
        self._max_sentences = max_sentences
        self._block_sentences = block_sentences
        self._task_reader = task_reader
        self._fields = fields
        self._distinct = distinct

    def corpus(self, source: Source) -> Corpus:
        """Open text; in distributed training each worker gets its share."""
        if self._task_reader is not None:  # gives each worker its share by itself
            return Corpus(source, self._max_sentences, self._block_sentences, read_lines=self._read_task)
        worker = (distributed.get_rank(), distributed.get_world_size()) if is_distributed() else (0, 1)
        return Corpus(source, self._max_sentences, self._block_sentences, worker)

    def word_table(self, vocabulary: Mapping[str, int]) -> WordTable:
        """Make the table that turns this reader's words into inputs and targets."""
        return WordTable(vocabulary, self._max_characters)

    @overrides(check_signature=False)
    def _read(self, file_path: Source) -> Iterable[Instance]:
        for block in self.corpus(file_path).blocks():
            for words in block:
                yield self.text_to_instance(words)

    @overrides(check_signature=False)
    def text_to_instance(self, words: List[str]) -> Instance:
        """Hold the words of one sentence."""
        return Instance({"words": MetadataField(words)})

    def _read_task(self, file: Shard) -> Iterator[List[str]]:
        assert self._task_reader is not None
        seen: Set[Tuple[str, ...]] = set()
        for instance in self._task_reader.read(str(file)):
            texts = {name: list(_texts(field)) for name, field in instance.fields.items()}
            wanted = [name for name in texts if texts[name]] if self._fields is None else self._fields
            if not wanted or not all(texts.get(name) for name in wanted):
                raise ConfigurationError(
                    f"dataset reader 'elmo_corpus': {file}: expected text in the fields {self._fields or '(any)'} of "
                    f"{type(self._task_reader).__name__}; an instance has text in "
                    f"{[name for name in texts if texts[name]]} and the other fields "
                    f"{[name for name in texts if not texts[name]]}."
                )
            for words in (words for name in wanted for words in texts[name]):
                if tuple(words) not in seen:
                    yield words
                if self._distinct:
                    seen.add(tuple(words))


def _texts(field: Field) -> Iterator[List[str]]:
    if isinstance(field, TextField):
        yield [token.text for token in field.tokens]
    elif isinstance(field, ListField):
        for part in field.field_list:
            yield from _texts(part)
