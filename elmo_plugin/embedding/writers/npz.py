"""
NumPy's archive: an array for each line, under its number. `numpy.load(path)["0"]` reads that line alone.

The description is the comment of the archive, where `numpy.load` does not look.
"""

import json
import zipfile
from pathlib import Path
from typing import Tuple

from elmo_plugin.embedding.part_file import WindowVectors, write_array
from elmo_plugin.embedding.writers.base import Description, Keys, VectorWriter


class NpzWriter(VectorWriter):
    """Arrays `(layers, tokens, dim)` or `(tokens, dim)`, float32, not compressed. The format "npz"."""

    name = "npz"
    layers_first = True

    def __init__(self, path: Path, shape: Tuple[int, ...], keys: Keys, is_repeatable: bool) -> None:
        super().__init__(path, shape, keys, is_repeatable)
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED)

    def add(self, window: WindowVectors) -> None:
        for number, _, vectors in window.lines():
            write_array(self._archive, f"{number}.npy", vectors)

    def close(self, description: Description) -> None:
        self._archive.comment = json.dumps(description).encode("utf-8")
        self._archive.close()

    def abandon(self) -> None:
        self._archive.close()

    @staticmethod
    def is_mine(begin: bytes) -> bool:
        return begin.startswith(b"PK")

    @staticmethod
    def describe(path: Path) -> Description:
        try:
            with zipfile.ZipFile(path) as archive:
                found = json.loads(archive.comment or b"{}")
                return found if isinstance(found, dict) else {}
        except (zipfile.BadZipFile, ValueError):
            return {}
