"""Batches of continuous text for the language model."""

from typing import Any, Iterator, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders.data_loader import TensorDict
from allennlp.nn.util import move_to_device
from overrides import overrides

from elmo_plugin.corpus.streams import StreamBatch, encode_block, schedule, stream_batches, to_tensors
from elmo_plugin.corpus.word_table import WordTable
from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader


@DataLoader.register("elmo_corpus")
class ElmoCorpusLoader(DataLoader):
    """
    Cut text into batches of `batch_size` endless streams by `unroll_steps` tokens, both directions, as bilm-tf.

    Tokens are counted from the text, so an epoch is an epoch and its length is known. No token is lost: the last
    batches of an epoch are padded with ignored targets.

    # Parameters

    reader : an `elmo_corpus` reader.
    batch_size : streams, one per row of the batch.
    unroll_steps : tokens of each stream in a batch.
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
        unroll_steps: int = 20,
        shuffle: bool = True,
        seed: int = 0,
        batches_per_epoch: Optional[int] = None,
        vocabulary_namespace: str = "elmo_lm",
    ) -> None:
        if not isinstance(reader, ElmoCorpusReader):
            raise ConfigurationError(
                f"data loader 'elmo_corpus': the dataset reader is {type(reader).__name__}, expected 'elmo_corpus'."
            )
        for name, value in (
            ("batch_size", batch_size),
            ("unroll_steps", unroll_steps),
            ("batches_per_epoch", batches_per_epoch),
        ):
            if value is not None and value < 1:
                raise ConfigurationError(f"data loader 'elmo_corpus': {name} is {value}, expected at least 1.")
        self._reader = reader
        self._data_path = data_path
        self._corpus = reader.corpus(data_path)
        self._rows = batch_size
        self._steps = unroll_steps
        self._shuffle = shuffle
        self._seed = seed
        self._batches_per_epoch = batches_per_epoch
        self._namespace = vocabulary_namespace
        self._table: Optional[WordTable] = None
        self._device: Optional[torch.device] = None
        self._epoch = 0
        self._endless: Optional[Iterator[StreamBatch]] = None

    @overrides
    def __len__(self) -> int:
        if self._batches_per_epoch is not None:
            return self._batches_per_epoch
        lengths = (
            length + 1 for block in self._corpus.lengths(self._epoch_seed(self._epoch)) for length in block.tolist()
        )
        return sum(1 for _ in schedule(lengths, self._rows, self._steps))

    @overrides
    def __iter__(self) -> Iterator[TensorDict]:
        if self._table is None:
            raise ValueError("data loader 'elmo_corpus': call index_with(vocabulary) before the first batch.")
        if self._batches_per_epoch is None:
            batches = stream_batches(self._sentences(self._epoch), self._rows, self._steps)
        else:
            if self._endless is None:
                self._endless = stream_batches(self._endless_sentences(), self._rows, self._steps)
            batches = (batch for _, batch in zip(range(self._batches_per_epoch), self._endless))
        for batch in batches:
            tensors = to_tensors(batch, self._table)
            yield tensors if self._device is None else move_to_device(tensors, self._device)
        self._epoch += 1

    @overrides
    def iter_instances(self) -> Iterator[Instance]:
        return iter(self._reader.read(self._data_path))

    @overrides
    def index_with(self, vocab: Vocabulary) -> None:
        self._table = self._reader.word_table(vocab.get_token_to_index_vocabulary(self._namespace))

    @overrides
    def set_target_device(self, device: torch.device) -> None:
        self._device = device

    def _epoch_seed(self, epoch: int) -> Optional[int]:
        return self._seed + epoch if self._shuffle else None

    def _sentences(self, epoch: int) -> Iterator[Any]:
        assert self._table is not None
        for block in self._corpus.blocks(self._epoch_seed(epoch)):
            yield from encode_block(block, self._table)

    def _endless_sentences(self) -> Iterator[Any]:
        epoch = 0
        while True:
            yield from self._sentences(epoch)
            epoch += 1
