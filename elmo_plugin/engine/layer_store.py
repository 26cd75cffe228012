"""
The folder of a layer cache: entries under keys, in generations of bounded size, shared by any number of processes.

    <folder>/elmo-layer-cache.json              says what the folder is
    <folder>/lock                               held while a process writes, makes or deletes generations
    <folder>/<fingerprint>.<number>/            a generation: `elmo_plugin.engine.generation`
"""

import json
import logging
import os
import re
import shutil
import threading
import uuid
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Set

from elmo_plugin.engine.errors import EngineError, FormatError
from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.engine.generation import (
    EMPTY,
    Entry,
    Generation,
    GenerationDamaged,
    GenerationFull,
    fits_into_an_empty_one,
)

logger = logging.getLogger(__name__)

MARKER = "elmo-layer-cache.json"
FORMAT = "elmo_plugin.layer_cache/1"
LOCK = "lock"

#: A generation is the unit that is deleted: this share of the size limit.
GENERATIONS = 8

#: Left free on the disk, for the checkpoints of the training that the cache serves.
RESERVE = 1 << 30

#: Seconds to wait for another process that writes. It holds the lock for one transaction.
PATIENCE = 10.0

_TRANSACTION = 1 << 26
_TEMPORARY = ".temporary-"
_GENERATION_NAME = re.compile(r"(?P<fingerprint>[0-9a-f]{32})\.(?P<number>[0-9]{6})")


class StoreFull(EngineError):
    """There is no room, or no turn, for these entries now; there may be later."""


class StoreFailed(EngineError):
    """The system refuses to write."""


class LayerStore:
    """
    The folder, open in this process. Use `open_stores.open_store`, so that a process opens a folder once.

    # Parameters

    folder : is made; one that holds something else is refused.

    # Raises

    `FormatError` where the folder is not a layer cache, `OSError` where it cannot be made or written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self._generations: Dict[str, Generation] = {}
        self._set_aside: Set[str] = set()
        self._seen = -1
        self._patience = PATIENCE
        _mark(folder)
        self._writer = FileLock(folder / LOCK)
        # Fails here, and not in the midst of a training, where the folder is not writable.
        if self._writer.acquire(exclusive=False):
            self._writer.release()

    def close(self) -> None:
        """Close all files; they are opened again when needed."""
        for generation in self._generations.values():
            generation.close()

    def read(self, fingerprint: str, keys: Sequence[bytes], take: Callable[[int, memoryview], bool]) -> List[bool]:
        """
        Look keys up.

        # Parameters

        fingerprint : 32 hexadecimal digits.
        keys : what the entries were written under.
        take : is called with the place of a key and what is stored for it, which is valid during the call; says
            whether that is sound. It may be called again with an older entry of the same key where it is not.

        # Returns

        For each key, whether something sound was found.
        """
        found = [False] * len(keys)
        with self.lock:
            self._scan()
            for generation in self._of(fingerprint):
                missing = [place for place in range(len(keys)) if not found[place]]
                if not missing:
                    break
                try:
                    with generation.reader() as get:
                        for place in missing:
                            value = get(keys[place])
                            if value is not None:
                                found[place] = take(place, value)
                                # A newer generation takes what is computed again, and is asked first from then on.
                                generation.is_closed |= not found[place]
                                generation.use()
                except GenerationDamaged as error:
                    self._put_aside(generation, error)
                except FormatError:
                    if generation.path.exists():  # and was not deleted by another process just now
                        raise
        return found

    def write(self, fingerprint: str, entries: Sequence[Entry], max_bytes: int) -> None:
        """
        Store entries. Those that are there already are replaced.

        # Parameters

        fingerprint : 32 hexadecimal digits.
        entries : pairs of a key and its bytes.
        max_bytes : of all generations in the folder. To stay below it, generations that no running process uses are
            deleted, the one whose last use lies longest ago first.

        # Raises

        `StoreFull`, `StoreFailed`; a part of the entries may have been stored.
        """
        with self.lock:
            try:
                if not self._writer.acquire(exclusive=True, patience=self._patience):
                    self._patience = 0.0  # not once more for the same process
                    raise StoreFull(f"another process has held {self.folder / LOCK} for {PATIENCE:.0f} seconds")
                self._patience = PATIENCE
                try:
                    self._write(fingerprint, list(entries), max_bytes)
                finally:
                    self._writer.release()
            except OSError as error:
                raise StoreFailed(str(error)) from error

    def _write(self, fingerprint: str, entries: List[Entry], max_bytes: int) -> None:
        self._sweep()
        self._scan()
        largest = max(len(value) for _, value in entries)
        rest = [entry for entry in entries if fits_into_an_empty_one(len(entry[1]), max_bytes // GENERATIONS)]
        too_large = len(rest) < len(entries)
        while rest:
            generation = self._writable(fingerprint, rest, max_bytes)
            number = generation.number_fitting(rest, at_most=_TRANSACTION)
            generation.use()  # in front of what follows, which would delete it where it is the oldest, or new
            self._make_room(generation.growth(rest[:number]), max_bytes)
            try:
                generation.put(rest[:number])
            except GenerationFull:
                continue  # with the next one
            except GenerationDamaged as error:
                self._put_aside(generation, error)
                continue
            rest = rest[number:]
        if too_large:
            raise StoreFull(
                f"a sentence takes {largest / 1e6:.1f} MB, more than one file may grow to, which is 1/{GENERATIONS} of "
                f"the size limit of {max_bytes / 1e6:.1f} MB"
            )

    def _writable(self, fingerprint: str, entries: Sequence[Entry], max_bytes: int) -> Generation:
        """The newest generation if it has room for the first entry, else a new one."""
        existing = self._of(fingerprint)
        if existing and existing[0].number_fitting(entries[:1], at_most=_TRANSACTION):
            return existing[0]
        self._make_room(EMPTY, max_bytes)
        numbers = [0] + [_number(name) for name in os.listdir(self.folder) if name.startswith(fingerprint)]
        path = self.folder / f"{fingerprint}.{max(numbers) + 1:06d}"
        generation = Generation.create(path, max_bytes // GENERATIONS, self._temporary())
        self._generations[path.name] = generation
        assert generation.number_fitting(entries[:1], at_most=_TRANSACTION), (path, len(entries[0][1]))
        return generation

    def _put_aside(self, generation: Generation, reason: GenerationDamaged) -> None:
        logger.warning("%s It is not used any more.", reason)
        self._set_aside.add(generation.path.name)

    def _make_room(self, growth: int, max_bytes: int) -> None:
        while sum(generation.size for generation in self._generations.values()) + growth > max_bytes:
            if not self._delete_oldest():
                raise StoreFull(f"the size limit of {max_bytes / 1e9:.2f} GB is reached, and all of it is in use")
        # Nothing is deleted for this: it may be others who fill the disk.
        free = shutil.disk_usage(str(self.folder)).free
        if free - growth < RESERVE:
            raise StoreFull(f"the disk has {free / 1e9:.2f} GB left, and {RESERVE / 1e9:.2f} GB are kept free")

    def _delete_oldest(self) -> bool:
        for generation in sorted(self._generations.values(), key=lambda generation: generation.last_used):
            if generation.delete(self._temporary()):
                del self._generations[generation.path.name]
                logger.info("deleted %s to make room", generation.path)
                return True
        return False

    def _of(self, fingerprint: str) -> List[Generation]:
        """The generations of a biLM, the newest first."""
        names = [name for name in self._generations if name.startswith(fingerprint) and name not in self._set_aside]
        return [self._generations[name] for name in sorted(names, reverse=True)]

    def _scan(self) -> None:
        """Take notice of generations that other processes made or deleted."""
        try:
            changed = os.stat(str(self.folder)).st_mtime_ns
            if changed == self._seen and not self._writer.is_held:
                return
            names = {name for name in os.listdir(self.folder) if _GENERATION_NAME.fullmatch(name)}
        except FileNotFoundError:
            changed, names = -1, set()
        for name in set(self._generations) - names:
            self._generations.pop(name).close()
        for name in names - set(self._generations):
            self._generations[name] = Generation(self.folder / name)
        self._seen = changed

    def _sweep(self) -> None:
        """Delete what processes left behind that were killed while they made or deleted a generation."""
        for name in os.listdir(self.folder):
            if name.startswith(_TEMPORARY):
                shutil.rmtree(str(self.folder / name), ignore_errors=True)

    def _temporary(self) -> Path:
        return self.folder / f"{_TEMPORARY}{uuid.uuid4().hex}"


def _number(name: str) -> int:
    match = _GENERATION_NAME.fullmatch(name)
    return int(match.group("number")) if match else 0


def _mark(folder: Path) -> None:
    """Write down what the folder is; refuse one that is something else."""
    if folder.exists() and not folder.is_dir():
        raise FormatError(
            f"{folder} is a file, expected a folder for the layer cache. Choose a new or an empty folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / MARKER
    if not marker.exists():
        others = [name for name in os.listdir(folder) if name not in (MARKER, LOCK) and not name.startswith(_TEMPORARY)]
        if others:
            raise FormatError(
                f"{folder} is not a layer cache: it has no {MARKER}, but holds {sorted(others)[0]!r}. "
                "Choose a new or an empty folder."
            )
        temporary = folder / f"{_TEMPORARY}{uuid.uuid4().hex}"
        temporary.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")
        os.replace(temporary, marker)
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{marker}: not the description of a layer cache ({error!r}). Delete {folder}.") from error
    if found != FORMAT:
        raise FormatError(f"{marker}: format {found!r}, expected {FORMAT!r}. Choose another folder.")
