"""A slice of any data set, named in its path."""

import os
import re
from typing import Iterable, NamedTuple

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from overrides import overrides

from elmo_plugin.dataset_readers._wrapping import WrappingReader

_SLICED = re.compile(r"(?P<file>.+)\[(?P<start>\d{1,3}%)?:(?P<stop>\d{1,3}%)?\]", re.DOTALL)

# Brackets at the end, with what belongs to a slice in them.
_LIKE_SLICED = re.compile(r".+\[[^\[\]/]*[:%][^\[\]/]*\]", re.DOTALL)


class Slice(NamedTuple):
    """
    What a path asks for.

    # Parameters

    file : the path without the slice.
    start, stop : percent of the instances, in their order.
    """

    file: str
    start: int
    stop: int


def parse(path: str) -> Slice:
    """
    Take a path apart: `FILE[:90%]`, `FILE[10%:20%]` or `FILE`, which is all of it.

    # Raises

    `ConfigurationError` where the slice is empty or goes beyond 100 %.
    """
    found = _SLICED.fullmatch(path)
    if found is None:
        return Slice(path, 0, 100)
    start, stop = (int((found[name] or default).rstrip("%")) for name, default in (("start", "0"), ("stop", "100")))
    if not start < stop <= 100:
        raise ConfigurationError(
            f"{path}: a slice from {start} to {stop} %, expected one that begins before it ends, within 100 %."
        )
    return Slice(found["file"], start, stop)


@DatasetReader.register("slice")
class SliceReader(WrappingReader):
    """
    Read what another reader reads of a file, or the slice of it that the path names: `FILE[:90%]` and `FILE[90%:]` are
    its first nine tenths and the last one, cut at the same instance. For data that come without a part to choose the
    epoch by. Registered as "slice".

    All instances of the file are held in memory while it is read.

    # Parameters

    reader : the reader.
    """

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterable[Instance]:
        part = parse(file_path)
        if part.file == file_path and _LIKE_SLICED.fullmatch(file_path) and not os.path.exists(file_path):
            raise ConfigurationError(
                f"{file_path}: no such file, and no slice: expected whole numbers with percent signs and no spaces, as "
                "in FILE[:90%], FILE[90%:] or FILE[10%:20%]."
            )
        if (part.start, part.stop) == (0, 100):
            yield from self._reader.read(part.file)
            return
        instances = list(self._reader.read(part.file))
        start, stop = (len(instances) * percent // 100 for percent in (part.start, part.stop))
        if start == stop:
            raise ConfigurationError(f"{file_path}: none of its {len(instances)} instances are in this slice.")
        yield from instances[start:stop]
