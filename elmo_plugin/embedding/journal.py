"""
What is finished of a long run, on disk, so that a run that was killed at any moment goes on.

Beside the output stands a folder with one file for each part of the text. A part is a file under its name only when it
is whole and on the disk; the output itself takes its place in the same way, at the very end, and then the folder goes.

    OUTPUT.unfinished/settings.json   what the run was asked for
    OUTPUT.unfinished/00000000.part   the first lines and their vectors, and so on
    OUTPUT.unfinished/output.tmp      the output as far as it is
"""

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Collection, Dict, List, Mapping, Optional

from elmo_plugin.embedding.durable import TEMPORARY, put_in_place, write_durably
from elmo_plugin.embedding.part_file import PartSummary, PartWriter, read_summary
from elmo_plugin.embedding.text import STRICT
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.engine.file_lock import FileLock

_SETTINGS = "settings.json"
_OUTPUT = "output.tmp"
_LOCK = "lock"
_PART = ".part"

#: in a folder of parts that is an output itself, what it says about itself
DESCRIPTION = "description.json"

# Whatever a run writes into its folder; `.nfs...` is how a network file system keeps what is deleted while it is open.
_OURS = re.compile(rf"({_LOCK}|{_SETTINGS}|{_OUTPUT}|{DESCRIPTION}|\d+{_PART})({TEMPORARY})?|\.nfs.*")


class Journal:
    """
    The folder of one run.

    # Parameters

    output : the file that the run writes; where it is a link, the file that it leads to.
    settings : all that decides about its bytes; simple values that JSON holds.

    # Raises

    `OptionsError` where another process has the folder, the run in it is another one, or files of others are in it.
    """

    def __init__(self, output: Path, settings: Dict[str, Any]) -> None:
        self.output = _followed(output)
        self.folder = folder_of(output)
        self._settings = settings
        self._lock: Optional[FileLock] = None

    @property
    def is_begun(self) -> bool:
        """Whether there is a run to go on with."""
        return is_begun(self.output)

    @property
    def unfinished_output(self) -> Path:
        """Where to write the output until it is whole."""
        return self.folder / _OUTPUT

    def open(self, resume: bool) -> List[PartSummary]:
        """
        Begin, or go on.

        # Parameters

        resume : go on with what is there; else there must be nothing.

        # Returns

        The finished parts, from the first on. What does not follow on them is deleted.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise OptionsError(f"{self.folder}: is a file, expected the folder of the run. Move it away.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._take()
        try:
            return self._begin_or_go_on(resume)
        except BaseException:
            self.close()
            raise

    def part(self, number: int) -> PartWriter:
        """Begin a part; it is in the folder when its writer was committed."""
        return PartWriter(self._path(number))

    def path_of(self, part: PartSummary) -> Path:
        """Where a finished part is."""
        return self._path(part.number)

    def finish(self) -> None:
        """Let the output take its place, and remove the folder."""
        put_in_place(self.unfinished_output, self.output)
        self.discard()

    def finish_as_folder(self) -> None:
        """Let the folder itself, with its parts, be the output."""
        if not FileLock.is_supported():  # Windows: no folder moves while a file in it is open
            self.close()
        put_in_place(self.folder, self.output)
        self.close()

    def discard(self) -> None:
        """Remove the folder, with all that the run wrote into it."""
        # First what makes it a run to go on with: whatever is killed behind this line leaves nothing that counts.
        (self.folder / _SETTINGS).unlink()
        self._remove()
        self.close()

    def remove_remains(self) -> None:
        """Remove what a run left behind whose output is in its place; not where another one has begun."""
        if self.folder.is_dir() and not self.is_begun:
            self._take()
            self._remove()
            self.close()

    def close(self) -> None:
        """Let other processes have the folder."""
        if self._lock is not None:
            self._lock.release()

    def _take(self) -> None:
        self._lock = FileLock(self.folder / _LOCK)
        if not (self._lock.acquire(exclusive=True) and self._lock.is_in_place):
            self.close()
            raise OptionsError(f"{self.folder}: another process is writing {self.output.name}. Wait until it ends.")

    def _begin_or_go_on(self, resume: bool) -> List[PartSummary]:
        if not self.is_begun:
            self._refuse_others()
            self._clear()
            self._write_settings()
        elif resume:
            self._check_settings()
        else:
            raise OptionsError(
                f"{self.folder}: holds an unfinished run that writes {self.output.name}. Go on with it (--resume), or "
                "delete the folder to begin anew."
            )
        return self._finished()

    def _refuse_others(self) -> None:
        """Take no folder that somebody else made: in the end it is removed."""
        others = sorted(path.name for path in self.folder.iterdir() if not _OURS.fullmatch(path.name))
        if others:
            raise OptionsError(
                f"{self.folder}: has {others[0]!r} in it, which no run wrote; expected no folder of this name, or that "
                f"of a run that writes {self.output.name}. Move it away, or name another file to write."
            )

    def _remove(self) -> None:
        with suppress(OSError):  # Windows deletes nothing that is open; what stays does not count
            for path in self.folder.iterdir():
                if _OURS.fullmatch(path.name):
                    path.unlink()
            self.folder.rmdir()

    def _write_settings(self) -> None:
        write_durably(self.folder / _SETTINGS, json.dumps(self._settings, indent=1).encode("utf-8"))

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}{_PART}"

    def _check_settings(self) -> None:
        path = self.folder / _SETTINGS
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise FormatError(f"{path}: {error}; expected the settings of a run. Delete the folder.") from error
        table = differences(found, self._settings, sorted(set(found) | set(self._settings)))
        if table:
            raise OptionsError(
                f"{self.folder}: the run in it was asked for something else ({table}). Go on with the same command, or "
                "delete the folder to begin anew."
            )
        self._write_settings()

    def _finished(self) -> List[PartSummary]:
        parts: List[PartSummary] = []
        while self._path(len(parts)).is_file():
            summary = read_summary(self._path(len(parts)))
            if summary is None or summary.number != len(parts):
                break
            parts.append(summary)
        self._clear({self._path(part.number) for part in parts})
        return parts

    def _clear(self, kept: Collection[Path] = ()) -> None:
        """Remove what a killed run left behind."""
        for path in self.folder.iterdir():
            if _OURS.fullmatch(path.name) and path.suffix in (_PART, TEMPORARY) and path not in kept:
                path.unlink()


def differences(found: Mapping[str, Any], now: Mapping[str, Any], names: Collection[str]) -> str:
    """
    Say which of the named values are others now than were found; nothing where all are equal.

    What was read with the errors "strict" was text: it reads the same with any. A format that holds nothing but texts
    gives numbers back as they look.
    """
    same = {"errors"} if found.get("errors") == STRICT else set()
    other = [name for name in names if str(found.get(name)) != str(now.get(name)) and name not in same]
    return "; ".join(f"{name}: {found.get(name)!r}, now {now.get(name)!r}" for name in other)


def folder_of(output: Path) -> Path:
    """The folder of the run that writes an output."""
    followed = _followed(output)
    return followed.with_name(followed.name + ".unfinished")


def is_begun(output: Path) -> bool:
    """Whether there is an unfinished run that writes an output."""
    return (folder_of(output) / _SETTINGS).is_file()


def _followed(output: Path) -> Path:
    """Where a link leads to: the run works there, and the link stays."""
    return Path(os.path.realpath(output)) if output.is_symlink() else output
