"""Batches of text for the language model."""

import logging
from itertools import count, islice, repeat
from typing import Any, Callable, Iterator, List, Optional, Tuple, TypeVar

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import DataLoader, DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders.data_loader import TensorDict
from allennlp.nn.util import move_to_device
from overrides import overrides
from torch import distributed

from elmo_plugin.corpus.sentence_batches import count_batches, sentence_batches
from elmo_plugin.corpus.streams import LazyBlock, LazySentence, StreamBatch, schedule, stream_batches, to_tensors
from elmo_plugin.corpus.text import Corpus
from elmo_plugin.corpus.vocabulary import ORDER_SAMPLE, is_in_order, known_words
from elmo_plugin.corpus.word_table import WordTable
from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader

logger = logging.getLogger(__name__)

T = TypeVar("T")

CONTINUOUS = "continuous"
SENTENCES = "sentences"
_WHERE = "data loader 'elmo_corpus'"


@DataLoader.register("elmo_corpus")
class ElmoCorpusLoader(DataLoader):
    """
    Cut text into batches, both directions.

    Tokens are counted from the text, so an epoch is an epoch and its length is known. No token is lost: the last
    batches of an epoch are padded with ignored targets. In distributed training each process reads its share of the
    text, and those whose share is used up go on with empty batches until all have finished.

    # Parameters

    reader : an `elmo_corpus` reader.
    batch_size : rows of a batch.
    batching : "continuous": each row is an endless stream of sentences, cut every `unroll_steps` tokens, as bilm-tf;
        for a model that carries its state. "sentences": each row is a sentence, beside others of about its length.
    unroll_steps : of "continuous": tokens of each stream in a batch, 20 by default.
    shuffle : shuffle shards, and sentences within blocks, anew in each epoch.
    seed : of the shuffling.
    batches_per_epoch : call this many batches an epoch; the next one goes on where this one stopped, and the streams
        run on from one pass over the text into the next.
    vocabulary_namespace : where the language model's vocabulary is.

    Registered as "elmo_corpus".
    """

    def __init__(
        self,
        reader: DatasetReader,
        data_path: Any,
        batch_size: int = 128,
        batching: str = CONTINUOUS,
        unroll_steps: Optional[int] = None,
        shuffle: bool = True,
        seed: int = 0,
        batches_per_epoch: Optional[int] = None,
        vocabulary_namespace: str = "elmo_lm",
    ) -> None:
        if not isinstance(reader, ElmoCorpusReader):
            raise ConfigurationError(
                f"{_WHERE}: the dataset reader is {type(reader).__name__}, expected 'elmo_corpus'."
            )
        if batching not in (CONTINUOUS, SENTENCES):
            raise ConfigurationError(f"{_WHERE}: batching is {batching!r}; choose one of {[CONTINUOUS, SENTENCES]}.")
        if batching == SENTENCES and unroll_steps is not None:
            raise ConfigurationError(f"{_WHERE}: unroll_steps is {unroll_steps}, but whole sentences are not cut.")
        for name, value in (
            ("batch_size", batch_size),
            ("unroll_steps", unroll_steps),
            ("batches_per_epoch", batches_per_epoch),
        ):
            if value is not None and value < 1:
                raise ConfigurationError(f"{_WHERE}: {name} is {value}, expected at least 1.")
        self._reader = reader
        self._data_path = data_path
        self._corpus = reader.corpus(data_path)
        self._rows = batch_size
        self._steps = None if batching == SENTENCES else unroll_steps or 20
        self._shuffle = shuffle
        self._seed = seed
        self._batches_per_epoch = batches_per_epoch
        self._namespace = vocabulary_namespace
        self._table: Optional[WordTable] = None
        self._n_words = 0
        self._sample: Optional[np.ndarray] = np.zeros(0, np.int64)
        self._device: Optional[torch.device] = None
        self._epoch = 0
        self._endless: Optional[Iterator[Optional[StreamBatch]]] = None
        self._is_skipped: Optional[Callable[[], bool]] = None
        self._skipped_epochs = 0
        self._counted: Optional[Tuple[int, int]] = None
        # Schedules of the learning rate follow the length, so all processes must have the same.
        self._common_length = self._length(0)[1] if is_distributed() and not batches_per_epoch else None

    @overrides
    def __len__(self) -> int:
        return self._common_length or self._batches_per_epoch or self._length(self._epoch)[1]

    @overrides
    def __iter__(self) -> Iterator[TensorDict]:
        if self._table is None:
            raise ValueError(f"{_WHERE}: call index_with(vocabulary) before the first batch.")
        batches: Iterator[Optional[StreamBatch]]
        if self._batches_per_epoch is None and self._epoch < self._skipped_epochs:
            batches = repeat(None, self._length(self._epoch)[1])
        elif self._batches_per_epoch is None:
            batches = self._pass(self._epoch)
        else:
            if self._endless is None:
                self._endless = self._endless_batches()
            batches = islice(self._endless, self._batches_per_epoch)
        for batch in batches:
            if batch is None:
                yield {}
                continue
            tensors = to_tensors(batch, self._table)
            self._check_order(tensors["forward_targets"])
            yield tensors if self._device is None else move_to_device(tensors, self._device)
        self._epoch += 1

    @overrides
    def iter_instances(self) -> Iterator[Instance]:
        return iter(self._reader.read(self._data_path))

    @overrides
    def index_with(self, vocab: Vocabulary) -> None:
        self._table = self._reader.word_table(vocab.get_token_to_index_vocabulary(self._namespace))
        self._n_words = vocab.get_vocab_size(self._namespace)
        self._sample = np.zeros(0, np.int64)

    @overrides
    def set_target_device(self, device: torch.device) -> None:
        self._device = device

    def text_sizes(self) -> List[Tuple[str, int]]:
        """Look up name and bytes of each file of the text, in order."""
        return self._corpus.sizes()

    def skip_while(self, is_skipped: Callable[[], bool], epochs: int = 0) -> None:
        """
        Pass over batches quickly, as long as nobody looks at them: they are empty then.

        # Parameters

        is_skipped : asked before each batch.
        epochs : the first epochs, of which no batch is looked at. Where an epoch is one pass over the text, theirs is
            not read again.
        """
        self._is_skipped = is_skipped
        self._skipped_epochs = epochs

    def _check_order(self, targets: torch.Tensor) -> None:
        """Look once, as soon as the first batches make a sample that is large enough."""
        if self._sample is None:
            return
        self._sample = np.concatenate([self._sample, known_words(targets.numpy())])
        if len(self._sample) < ORDER_SAMPLE:
            return
        if not is_in_order(self._sample, self._n_words):
            logger.warning(
                "%s: the frequent words of %s are not at the beginning of the vocabulary %r, which the sampled softmax "
                "takes to be sorted by falling frequency. `allennlp elmo-vocabulary` makes one that is.",
                _WHERE,
                self._data_path,
                self._namespace,
            )
        self._sample = None

    def _epoch_seed(self, epoch: int) -> Optional[int]:
        return self._seed + epoch if self._shuffle else None

    def _count(self, epoch: int) -> int:
        """Number of batches of this process in a pass over the text; counted once, also if it is asked often."""
        if self._counted is None or self._counted[0] != epoch:
            blocks = self._corpus.lengths(self._epoch_seed(epoch))
            if self._steps is None:
                batches = count_batches(map(len, blocks), self._rows)
            else:
                lengths = (length + 1 for block in blocks for length in block.tolist())
                batches = sum(1 for _ in schedule(lengths, self._rows, self._steps))
            self._counted = (epoch, batches)
        return self._counted[1]

    def _length(self, epoch: int) -> Tuple[int, int]:
        """Number of batches of this process, and of the one that has most, which may be one of another share."""
        own = self._count(epoch)
        longest = self._agree(own) if is_distributed() else own
        if not longest:
            raise self._corpus.empty_error()
        return own, longest

    def _pass(self, epoch: int) -> Iterator[Optional[StreamBatch]]:
        """The batches of one pass over the text, as many in each process."""
        missing = 0
        if is_distributed():
            # Before the first batch, as long as all processes do the same: the trainer exchanges something with each.
            own, longest = self._length(epoch)
            missing = longest - own
        if self._steps is None:
            yield from self._sentence_batches(epoch)
        else:
            yield from stream_batches(self._sentences(epoch), self._rows, self._steps, self._is_skipped)
        for _ in range(missing):
            yield StreamBatch.empty(self._rows, 1)

    def _endless_batches(self) -> Iterator[Optional[StreamBatch]]:
        if self._steps is not None:
            sentences = _endless(self._sentences, self._corpus)
            yield from stream_batches(sentences, self._rows, self._steps, self._is_skipped)
        else:
            yield from _endless(self._sentence_batches, self._corpus)

    def _sentences(self, epoch: int) -> Iterator[LazySentence]:
        for block in self._blocks(epoch):
            yield from block.sentences()

    def _sentence_batches(self, epoch: int) -> Iterator[Optional[StreamBatch]]:
        blocks = (list(block.sentences()) for block in self._blocks(epoch))
        return sentence_batches(blocks, self._rows, self._epoch_seed(epoch), self._is_skipped)

    def _blocks(self, epoch: int) -> Iterator[LazyBlock]:
        assert self._table is not None
        for block in self._corpus.blocks(self._epoch_seed(epoch)):
            yield LazyBlock(block, self._table)

    def _agree(self, batches: int) -> int:
        """The largest count of all processes."""
        # NCCL exchanges what is on this process's GPU, which AllenNLP has made the current one.
        tensor = torch.tensor(batches, device="cuda" if distributed.get_backend() == "nccl" else "cpu")
        distributed.all_reduce(tensor, distributed.ReduceOp.MAX)
        return int(tensor)


def _endless(one_pass: Callable[[int], Iterator[T]], corpus: Corpus) -> Iterator[T]:
    """Pass after pass over the text; refuse one without a sentence, which would be read for ever."""
    for epoch in count():
        is_empty = True
        for item in one_pass(epoch):
            is_empty = False
            yield item
        if is_empty:
            raise corpus.empty_error()
