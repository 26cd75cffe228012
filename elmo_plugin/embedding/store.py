"""Windows of vectors on their way to the disk."""

from contextlib import suppress
from typing import Optional

from elmo_plugin.embedding.journal import Journal
from elmo_plugin.embedding.part_file import PartSummary, PartWriter, WindowVectors, read_windows
from elmo_plugin.embedding.writers import VectorWriter
from elmo_plugin.engine.lstm import LstmState


class VectorStore:
    """
    Where windows go: into the part that is being written, and into the output.

    # Parameters

    journal : has the parts.
    writer : of the output.
    parts : finished parts of the journal.
    """

    def __init__(self, journal: Journal, writer: VectorWriter, parts: int) -> None:
        self._journal = journal
        self._writer = writer
        self._number = parts
        self._part: Optional[PartWriter] = None

    def copy(self, part: PartSummary) -> None:
        """Put a finished part into the output."""
        for window in read_windows(self._journal.path_of(part), part):
            self._writer.add(window)

    def add(self, window: WindowVectors) -> None:
        """Put a window into both."""
        if self._part is None:
            self._part = self._journal.part(self._number)
        self._part.add(window)
        self._writer.add(window)

    def commit(self, summary: PartSummary, state: Optional[LstmState]) -> None:
        """Let the windows that were added since the last call be a part, and be lasting."""
        assert self._part is not None
        self._part.commit(summary._replace(number=self._number), state)
        self._part = None
        self._number += 1

    def abandon(self) -> None:
        """Let go of both files. On a full disk that fails too, which is no news."""
        for file in (self._part, self._writer):
            if file is not None:
                with suppress(OSError, RuntimeError, ValueError):
                    file.abandon()
