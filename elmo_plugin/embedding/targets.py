"""What a run may write: one file in some format, or a folder of its parts."""

import json
import os
from pathlib import Path
from typing import IO, List, NamedTuple, Sequence, Tuple, Union

from elmo_plugin.embedding.journal import DESCRIPTION, Journal, is_begun
from elmo_plugin.embedding.part_file import PartSummary
from elmo_plugin.embedding.rounding import check_dtype
from elmo_plugin.embedding.store import FileStore, FolderStore, PartStore
from elmo_plugin.embedding.text import STANDARD_INPUT
from elmo_plugin.embedding.writers import Description, Keys, read_description, writer_class
from elmo_plugin.engine.errors import FormatError, OptionsError


class Target(NamedTuple):
    """
    A file.

    # Parameters

    path : the file; what is there is replaced when the new one is whole.
    format : one of `elmo_plugin.embedding.writers.names()`.
    keys : how lines are named.
    resume : go on with the run that was interrupted.
    """

    path: Path
    format: str = "hdf5"
    keys: Keys = Keys()
    resume: bool = False

    @property
    def layers_first(self) -> bool:
        """Whether vectors come fastest from memory that has each layer in one piece."""
        return writer_class(self.format).layers_first

    def check(self) -> None:
        """Refuse, before the work, what cannot be written."""
        writer_class(self.format).check(self.keys)
        if self.path == Path(STANDARD_INPUT):
            raise OptionsError("-: vectors do not go to standard output, expected the name of a file to write.")
        if self.path.is_dir():
            raise OptionsError(f"{self.path}: is a folder, expected the file to write.")
        if self.path.exists() and not self.path.is_file():
            raise OptionsError(f"{self.path}: is a device or a pipe, expected the file to write.")

    def about(self) -> Description:
        """What the output says about itself, beside what is true of the run."""
        return {
            "format": self.format,
            "use_sentence_keys": int(self.keys.by_sentence),
            "forget_sentences": int(not self.keys.with_index),
        }

    def store(
        self, journal: Journal, parts: List[PartSummary], shape: Tuple[int, ...], is_repeatable: bool
    ) -> PartStore:
        """Where windows go."""
        writer = writer_class(self.format)(journal.unfinished_output, shape, self.keys, is_repeatable)
        return FileStore(journal, len(parts), writer)

    def description(self) -> Description:
        """What the output that is there says about itself; empty where it is of nobody here."""
        return read_description(self.path)


class PartsTarget(NamedTuple):
    """
    A folder of the run's parts, which are written once and can be mapped into memory; see `parts_folder`.

    # Parameters

    path : the folder; must not be there.
    dtype : "float16" or "float32".
    resume : go on with the run that was interrupted.
    """

    path: Path
    dtype: str = "float16"
    resume: bool = False

    @property
    def layers_first(self) -> bool:
        """Whether vectors come fastest from memory that has each layer in one piece."""
        return True

    def check(self) -> None:
        """Refuse, before the work, what cannot be written."""
        check_dtype(self.dtype)
        if self.path.exists() and (not self.resume or is_begun(self.path)):
            raise OptionsError(f"{self.path}: exists. Delete it, or name another folder to write.")

    def about(self) -> Description:
        """What the output says about itself, beside what is true of the run."""
        return {"format": "parts", "dtype": self.dtype}

    def store(
        self, journal: Journal, parts: List[PartSummary], shape: Tuple[int, ...], is_repeatable: bool
    ) -> PartStore:
        """Where windows go."""
        return FolderStore(journal, len(parts), self.dtype)

    def description(self) -> Description:
        """What the output that is there says about itself; empty where it is of nobody here."""
        path = self.path / DESCRIPTION
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FormatError(f"{path}: {error}; expected the description of vectors. Delete the folder.") from error
        return found if isinstance(found, dict) else {}


AnyTarget = Union[Target, PartsTarget]


def check_target(source: Union[str, Path, IO], target: AnyTarget, weights: Sequence[Path] = ()) -> None:
    """
    Refuse, before anything is loaded, what cannot be written or read.

    # Parameters

    source : the text.
    target : what to write.
    weights : the files of the biLM, which are not to be overwritten.

    # Raises

    `OptionsError`, `FileNotFoundError`, `PermissionError`.
    """
    target.check()
    _check_writable(target.path)
    for path in weights if target.path.exists() else ():
        if target.path.samefile(path):
            raise OptionsError(f"{target.path}: belongs to the biLM, expected another file to write.")
    if not isinstance(source, (str, Path)) or source == STANDARD_INPUT:
        return
    if not Path(source).exists():
        raise FileNotFoundError(f"{source}: no such file, expected text with a tokenised sentence a line.")
    if Path(source).is_dir():
        raise OptionsError(f"{source}: is a folder, expected text with a tokenised sentence a line.")
    if target.path.exists() and target.path.samefile(source):
        raise OptionsError(f"{target.path}: is the text, expected another file to write.")


def _check_writable(path: Path) -> None:
    """Look at the folder that the output comes into, or at the one in which that folder is made."""
    folder = next(parent for parent in Path(os.path.realpath(path)).parents if parent.exists())
    if not folder.is_dir():
        raise OptionsError(f"{path}: cannot be written, because {folder} is no folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{path}: cannot be written, because nothing may be made in the folder {folder}.")
