"""A part of any data set."""

import random
from typing import Any, Iterable

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from overrides import overrides

from elmo_plugin.dataset_readers._wrapping import WrappingReader


@DatasetReader.register("fraction")
class FractionReader(WrappingReader):
    """
    Read a random part of what another reader reads, as for figure 1 of Peters et al. (2018). Registered as "fraction".

    The part depends on the seed alone, not on that of the training: every model and every seed trains on the same part,
    and the smaller of two parts lies in the larger.

    # Parameters

    reader : the reader.
    fraction : more than 0, at most 1.
    seed : chooses the part.
    """

    def __init__(self, reader: DatasetReader, fraction: float, seed: int = 0, **kwargs: Any) -> None:
        if not 0 < fraction <= 1:
            raise ConfigurationError(f'"fraction" is {fraction}, expected more than 0 and at most 1.')
        super().__init__(reader, **kwargs)
        self._fraction = fraction
        self._seed = seed

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterable[Instance]:
        chooser = random.Random(self._seed)
        found = None
        for instance in self._reader.read(file_path):
            chosen = chooser.random() < self._fraction
            if chosen:
                yield instance
            found = found or chosen
        if not found:
            raise ConfigurationError(
                f'{file_path}: a "fraction" of {self._fraction} is none of its instances. Use more, or another "seed".'
            )
