"""Several files as one data set, named in one path."""

import os
import re
from typing import Iterable, List

from allennlp.data import DatasetReader, Instance
from overrides import overrides

from elmo_plugin.dataset_readers._wrapping import WrappingReader

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def expand(path: str) -> List[str]:
    """
    Write out the braces of a path, as shells do: `a{b,c}` is `ab` and `ac`. They are not nested; those in the name of
    a file or folder that is there are letters.
    """
    for found in _BRACES.finditer(path):
        behind = path.find("/", found.end())
        if not os.path.exists(path if behind < 0 else path[:behind]):
            names = found[1].split(",")
            return [whole for name in names for whole in expand(path[: found.start()] + name + path[found.end() :])]
    return [path]


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
