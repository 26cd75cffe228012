"""A folder of Parquet files, on a disk or in an object store, each known by what is in it."""

import hashlib
import json
import logging
import pickle
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

import numpy as np

from elmo_plugin.embedding.durable import TEMPORARY
from elmo_plugin.embedding.writers.parquet import ParquetFile, load_arrow

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"

_TOKENS = b"elmo_plugin.tokens"


class Partition(NamedTuple):
    """
    A file of the folder.

    # Parameters

    name : of the file.
    sentences, tokens : in it.
    is_new : whether it was computed, or had been there.
    """

    name: str
    sentences: int
    tokens: int
    is_new: bool


class PartitionFolder:
    """
    Where partitions go. A file has its name only when it is whole.

    # Parameters

    place : a path, or a URI that pyarrow knows.
    """

    def __init__(self, place: str) -> None:
        load_arrow()
        import pyarrow.fs

        uri = place if "://" in place else Path(place).absolute().as_uri()
        self._files: Any
        self._files, self._root = pyarrow.fs.FileSystem.from_uri(uri)
        self._not_found = pyarrow.fs.FileType.NotFound
        self._selector = pyarrow.fs.FileSelector(self._root)

    def make(self) -> None:
        """Make the folder, unless it exists."""
        self._files.create_dir(self._root, recursive=True)

    def write(
        self,
        table: Any,
        schema: Any,
        about: Dict[str, Any],
        pieces: Callable[[Any], Iterable[Any]],
        tokens_in: Callable[[Any], int],
    ) -> Partition:
        """
        Write a partition, unless it is there.

        # Parameters

        table : what the partition is made from; with `about` it is what the file is known by.
        schema : of the pieces.
        about : what else decides about the content.
        pieces : makes the content.
        tokens_in : counts the tokens of a piece.
        """
        name = f"part-{_key(table, about)}.parquet"
        if self._exists(name):
            return Partition(name, table.num_rows, self._tokens(name), False)
        temporary = f".{name}.{uuid.uuid4().hex}{TEMPORARY}"
        tokens = 0
        with self._files.open_output_stream(self._path(temporary)) as stream:
            file = ParquetFile(stream, schema)
            try:
                for piece in pieces(table):
                    tokens += tokens_in(piece)
                    file.write(piece)
            finally:
                file.close({_TOKENS: str(tokens).encode()})
        self._files.move(self._path(temporary), self._path(name))
        return Partition(name, table.num_rows, tokens, True)

    def finish(self, partitions: List[Partition], about: Dict[str, Any]) -> None:
        """
        Write the list of all partitions, which says that the folder is complete.

        Partitions of equal content share a file, which is copied as often as they are.
        """
        names = []
        for name, count in sorted(Counter(partition.name for partition in partitions).items()):
            names.append(name)
            for copy in range(2, count + 1):
                stem = name[: -len(".parquet")]
                names.append(f"{stem}-{copy}.parquet")
                if not self._exists(names[-1]):
                    temporary = f".{names[-1]}.{uuid.uuid4().hex}{TEMPORARY}"
                    self._files.copy_file(self._path(name), self._path(temporary))
                    self._files.move(self._path(temporary), self._path(names[-1]))
        self._look_at_others(names)
        content = {
            **about,
            "sentences": sum(partition.sentences for partition in partitions),
            "tokens": sum(partition.tokens for partition in partitions),
            "files": names,
        }
        with self._files.open_output_stream(self._path(MANIFEST + TEMPORARY)) as stream:
            stream.write(json.dumps(content, indent=1).encode("utf-8"))
        self._files.move(self._path(MANIFEST + TEMPORARY), self._path(MANIFEST))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _exists(self, name: str) -> bool:
        return self._files.get_file_info(self._path(name)).type != self._not_found

    def _tokens(self, name: str) -> int:
        with self._files.open_input_file(self._path(name)) as file:
            return int(load_arrow().parquet.read_metadata(file).metadata[_TOKENS])

    def _look_at_others(self, names: List[str]) -> None:
        """Remove what workers that were killed left half, and tell of files of another dataset."""
        ours = set(names)
        found = [info.base_name for info in self._files.get_file_info(self._selector)]
        for name in found:
            if name.startswith(".part-") and name.endswith(TEMPORARY):
                self._files.delete_file(self._path(name))
        others = [name for name in found if name.endswith(".parquet") and name not in ours]
        if others:
            logger.warning(
                "%s: holds %d Parquet files that are not of this dataset, such as %s. Read those that %s names.",
                self._root,
                len(others),
                others[0],
                MANIFEST,
            )


def _key(table: Any, about: Dict[str, Any]) -> str:
    """What a partition is known by: its rows in all columns, and what is done with them."""
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode("utf-8"), digest_size=16)
    for name, column in _columns(table):
        digest.update(json.dumps([name, column], default=_in_full).encode("utf-8"))
    return digest.hexdigest()


def _in_full(value: Any) -> Any:
    """All of a value that JSON has no type for. What it looks like is not enough: long arrays look alike."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:  # of any layout, and by any version of NumPy
        return [value.dtype.str, value.shape, hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()]
    return hashlib.blake2b(pickle.dumps(value, protocol=4), digest_size=16).hexdigest()


def _columns(table: Any) -> List[Tuple[str, List[Any]]]:
    return [(name, table.column(name).to_pylist()) for name in table.column_names]
