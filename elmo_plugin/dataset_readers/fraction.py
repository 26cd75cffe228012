"""A part of any data set."""

import hashlib
from typing import Any, Iterable

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from overrides import overrides

from elmo_plugin.adapters.instance_content import content_of
from elmo_plugin.dataset_readers._wrapping import WrappingReader


@DatasetReader.register("fraction")
class FractionReader(WrappingReader):
    """
    Read a random part of what another reader reads, as for figure 1 of Peters et al. (2018). Registered as "fraction".

    The part and its order depend on the words and labels of the instances and on the seed alone, not on the seed of the
    training nor on the order of the files: every model trains on the same part, and the smaller of two parts lies in
    the larger, as long as the reader reads the same each time. All instances are held in memory while they are read.

    # Parameters

    reader : the reader.
    fraction : more than 0, at most 1: of all instances, rounded to whole ones.
    seed : chooses the part.
    """

    def __init__(self, reader: DatasetReader, fraction: float, seed: int = 0, **kwargs: Any) -> None:
        if not 0 < fraction <= 1:
            raise ConfigurationError(f'"fraction" is {fraction}, expected more than 0 and at most 1.')
        super().__init__(reader, **kwargs)
        self._fraction = fraction
        self._seed = str(seed).encode()

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterable[Instance]:
        instances = sorted(self._reader.read(file_path), key=self._place)
        chosen = round(self._fraction * len(instances))
        if chosen == 0:
            raise ConfigurationError(
                f'{file_path}: a "fraction" of {self._fraction} is none of its {len(instances)} instances. Use more.'
            )
        yield from instances[:chosen]

    def _place(self, instance: Instance) -> bytes:
        return hashlib.blake2b(content_of(instance), key=self._seed, digest_size=8).digest()
