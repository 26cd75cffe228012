"""Several files as one data set, named in one path."""

import re
from typing import Iterable, List

from allennlp.data import DatasetReader, Instance
from overrides import overrides

from elmo_plugin.dataset_readers._wrapping import WrappingReader

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def expand(path: str) -> List[str]:
    """Write out the braces of a path, as shells do: `a{b,c}` is `ab` and `ac`. They are not nested."""
    found = _BRACES.search(path)
    if found is None:
        return [path]
    return [
        whole for name in found[1].split(",") for whole in expand(path[: found.start()] + name + path[found.end() :])
    ]


@DatasetReader.register("joined")
class JoinedReader(WrappingReader):
    """
    Read several files by another reader, one behind the other: `DATA/{first,second}/train.json`. All of them have to be
    there. Registered as "joined".

    # Parameters

    reader : the reader.
    """

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterable[Instance]:
        for path in expand(file_path):
            yield from self._reader.read(path)
