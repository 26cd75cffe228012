"""The formats of a result, one module each."""

from pathlib import Path
from typing import Dict, List, Type

from elmo_plugin.embedding.writers.base import Description, Keys, VectorWriter
from elmo_plugin.embedding.writers.hdf5 import Hdf5Writer
from elmo_plugin.embedding.writers.npz import NpzWriter
from elmo_plugin.embedding.writers.parquet import ParquetWriter
from elmo_plugin.embedding.writers.safetensors import SafetensorsWriter
from elmo_plugin.engine.errors import OptionsError

__all__ = ["Description", "Keys", "VectorWriter", "names", "writer_class"]

_WRITERS: Dict[str, Type[VectorWriter]] = {
    writer.name: writer for writer in (Hdf5Writer, SafetensorsWriter, ParquetWriter, NpzWriter)
}


def names() -> List[str]:
    """The formats."""
    return list(_WRITERS)


def writer_class(name: str) -> Type[VectorWriter]:
    """
    Find the writer of a format.

    # Raises

    `OptionsError` where there is no format of that name.
    """
    if name not in _WRITERS:
        raise OptionsError(f"unknown format {name!r}; choose one of {names()}.")
    return _WRITERS[name]


def read_description(path: Path) -> Description:
    """
    Say what a file that one of the writers wrote holds, told apart by its first bytes.

    # Returns

    The description; empty where the file is of nobody here.
    """
    with open(path, "rb") as file:
        begin = file.read(8)
    for writer in _WRITERS.values():
        if writer.is_mine(begin):
            return writer.describe(path)
    return {}
