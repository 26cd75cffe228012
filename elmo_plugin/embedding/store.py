"""Windows of vectors on their way to the disk."""

import json
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Optional

from elmo_plugin.embedding.durable import write_durably
from elmo_plugin.embedding.journal import DESCRIPTION, Journal
from elmo_plugin.embedding.part_file import PartSummary, PartWriter, WindowVectors, read_windows
from elmo_plugin.embedding.rounding import rounded
from elmo_plugin.embedding.writers import Description, VectorWriter
from elmo_plugin.engine.lstm import LstmState


class PartStore(ABC):
    """
    Where windows go: into the part that is being written, and on into the output.

    # Parameters

    journal : has the parts.
    parts : finished parts of the journal.
    """

    def __init__(self, journal: Journal, parts: int) -> None:
        self._journal = journal
        self._number = parts
        self._part: Optional[PartWriter] = None

    @property
    def parts(self) -> int:
        """How many parts are finished."""
        return self._number

    @abstractmethod
    def copy(self, part: PartSummary) -> None:
        """Put a finished part into the output."""

    def add(self, window: WindowVectors) -> None:
        """Put a window into the part and into the output; its arrays are used again behind this."""
        if self._part is None:
            self._part = self._journal.part(self._number)
        self._part.add(window)

    def commit(self, summary: PartSummary, state: Optional[LstmState]) -> None:
        """Let the windows that were added since the last call be a part, and be lasting."""
        assert self._part is not None
        self._part.commit(summary._replace(number=self._number), state)
        self._part = None
        self._number += 1

    @abstractmethod
    def close(self, description: Description) -> None:
        """Finish the output, with a description of what is in it."""

    @abstractmethod
    def finish(self) -> None:
        """Let the output take its place."""

    def abandon(self) -> None:
        """Let go of the files. On a full disk that fails too, which is no news."""
        if self._part is not None:
            with suppress(OSError, RuntimeError, ValueError):
                self._part.abandon()


class FileStore(PartStore):
    """The output is one file; the parts are only there to go on after an interruption."""

    def __init__(self, journal: Journal, parts: int, writer: VectorWriter) -> None:
        super().__init__(journal, parts)
        self._writer = writer

    def copy(self, part: PartSummary) -> None:
        for window in read_windows(self._journal.path_of(part), part):
            self._writer.add(self._as_in_memory(window))

    def add(self, window: WindowVectors) -> None:
        super().add(self._as_in_memory(window))
        self._writer.add(window)

    def _as_in_memory(self, window: WindowVectors) -> WindowVectors:
        """Take the vectors to the order in which the parts have them, that of memory, or back."""
        if self._writer.layers_first and window.vectors.ndim == 3:
            return window._replace(vectors=window.vectors.transpose(1, 0, 2))
        return window

    def close(self, description: Description) -> None:
        self._writer.close(description)

    def finish(self) -> None:
        self._journal.finish()

    def abandon(self) -> None:
        super().abandon()
        with suppress(OSError, RuntimeError, ValueError):
            self._writer.abandon()


class FolderStore(PartStore):
    """
    The output is the folder of the parts, each layer of a window in one piece.

    # Parameters

    dtype : of the vectors.
    """

    def __init__(self, journal: Journal, parts: int, dtype: str) -> None:
        super().__init__(journal, parts)
        self._dtype = dtype

    def copy(self, part: PartSummary) -> None:
        pass  # it is where it belongs

    def add(self, window: WindowVectors) -> None:
        vectors = window.vectors
        by_layer = (vectors if vectors.ndim == 3 else vectors[:, None]).transpose(1, 0, 2)
        where = f"lines {window.first + 1} to {window.first + len(window.texts)}"
        super().add(window._replace(vectors=rounded(by_layer, self._dtype, where)))

    def close(self, description: Description) -> None:
        content = json.dumps({**description, "parts": self._number}, indent=1)
        write_durably(self._journal.folder / DESCRIPTION, content.encode("utf-8"))

    def finish(self) -> None:
        self._journal.finish_as_folder()
