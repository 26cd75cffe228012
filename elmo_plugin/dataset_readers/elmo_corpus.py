"""Tokenised text for the language model as an AllenNLP dataset reader."""

from typing import Any, Iterable, List, Mapping, Optional

from allennlp.common.util import is_distributed
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField
from overrides import overrides
from torch import distributed

from elmo_plugin.corpus.text import Corpus, Source
from elmo_plugin.corpus.word_table import WordTable


@DatasetReader.register("elmo_corpus")
class ElmoCorpusReader(DatasetReader):
    """
    Read text of one sentence a line, words separated by white space, plain or gzip.

    A data path is a file, a folder, a glob pattern or a list of these. The data loader `elmo_corpus` makes batches.

    # Parameters

    max_characters_per_token : length of a word's row of character ids; must be the biLM's.
    word_level : give word ids instead of characters, for a biLM without a character CNN.
    max_sentences : keep only the first sentences.
    block_sentences : sentences held in memory, and range of their shuffling.

    Registered as "elmo_corpus".
    """

    def __init__(
        self,
        max_characters_per_token: int = 50,
        word_level: bool = False,
        max_sentences: Optional[int] = None,
        block_sentences: int = 100_000,
        **kwargs: Any,
    ) -> None:
        # Each process opens its share of the text; AllenNLP would share that out again.
        super().__init__(manual_distributed_sharding=True, **kwargs)
        self._max_characters = None if word_level else max_characters_per_token
        self._max_sentences = max_sentences
        self._block_sentences = block_sentences

    def corpus(self, source: Source) -> Corpus:
        """Open text; in distributed training each worker gets its share."""
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
