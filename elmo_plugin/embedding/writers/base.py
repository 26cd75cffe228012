"""What all formats have in common."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Dict, NamedTuple, Tuple, Union

from elmo_plugin.embedding.part_file import WindowVectors
from elmo_plugin.engine.errors import OptionsError

#: what a file says about itself: simple values under names
Description = Dict[str, Union[str, int]]


class Keys(NamedTuple):
    """
    How a file names its lines.

    # Parameters

    by_sentence : by the sentence; else by the number of the line, from 0.
    with_index : beside the numbers, a map from the sentences to the numbers.
    """

    by_sentence: bool = False
    with_index: bool = True


class VectorWriter(ABC):
    """
    Writes the vectors of a text, window by window, into one file.

    Equal windows give equal files, byte for byte, with one version of the library behind a format.

    # Parameters

    path : the file.
    shape : of one token's vectors: `(layers, dim)` or `(dim,)`.
    keys : how lines are named.
    is_repeatable : whether a sentence has the same vectors wherever it stands.
    """

    name: str

    #: whether each line's vectors are stored layer by layer; then they come fastest from memory that is laid out so
    layers_first = False

    def __init__(self, path: Path, shape: Tuple[int, ...], keys: Keys, is_repeatable: bool) -> None:
        self.path = path
        self.shape = shape
        self.keys = keys
        self.is_repeatable = is_repeatable

    @classmethod
    def check(cls, keys: Keys) -> None:
        """
        Refuse, before the work, what the format cannot do.

        # Raises

        `OptionsError`; `BackendUnavailableError` where a package is missing.
        """
        if keys.by_sentence:
            raise OptionsError(
                f"format {cls.name!r}: lines are named by their numbers. Use hdf5 for sentences as keys."
            )

    @abstractmethod
    def add(self, window: WindowVectors) -> None:
        """Append a window, and keep no reference to its vectors."""

    @abstractmethod
    def close(self, description: Description) -> None:
        """Finish the file, with a description of what is in it."""

    def abandon(self) -> None:  # noqa: B027  most formats have nothing to let go
        """Let go of the file, which is not finished."""

    @staticmethod
    @abstractmethod
    def is_mine(begin: bytes) -> bool:
        """Whether a file that begins with these 8 bytes may be of this format."""

    @staticmethod
    @abstractmethod
    def describe(path: Path) -> Description:
        """Read what `close` was given; empty where the file has none."""
