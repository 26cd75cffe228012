"""One part of a layer cache: an LMDB environment of bounded size, which only grows until it is deleted whole."""

import mmap
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence, Tuple

from elmo_plugin.engine.errors import EngineError, FormatError
from elmo_plugin.engine.file_lock import FileLock

DATA = "data.mdb"
USED = "used"

#: Of the size of a generation; one entry may be in the megabytes.
SMALLEST = 1 << 20

#: Bytes of a generation without entries: the two pages that LMDB begins with.
EMPTY = 2 * mmap.PAGESIZE

# What a transaction may need beside its entries, for the tree and the list of free pages.
_OVERHEAD_PAGES = 32

# More than AllenNLP starts in one place; a place in the table is 64 bytes.
_MAX_READERS = 512

_ROUND = 1 << 16

Entry = Tuple[bytes, bytes]


class GenerationDamaged(EngineError):
    """LMDB has found its pages damaged."""


class GenerationFull(EngineError):
    """A generation has no room for an entry."""


def load_lmdb() -> Any:
    """Import lmdb, which the engine needs for this alone."""
    try:
        import lmdb
    except ImportError as error:
        raise EngineError(
            'the layer cache needs the package lmdb, which is not installed. Install it ("pip install lmdb"), or go '
            "without the cache."
        ) from error
    return lmdb


class Generation:
    """
    A generation that exists. Its files are opened when they are first needed.

    Every method raises `FormatError` where they turn out not to be, or no longer to be, an environment of LMDB, and
    `OSError` where the system does not let them be used (too many open files, no right to read, no memory).

    # Parameters

    path : its folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: takes no more entries: LMDB has called it full, or something in it was damaged
        self.is_closed = False
        self._in_use = FileLock(path / USED)
        self._environment: Any = None

    @staticmethod
    def create(path: Path, capacity: int, temporary: Path) -> "Generation":
        """
        Make an empty generation, which appears whole or not at all.

        # Parameters

        path : its folder.
        capacity : bytes that its data file may grow to.
        temporary : a path beside it that nothing has.
        """
        lmdb = load_lmdb()
        rounded = (max(capacity, SMALLEST) + _ROUND - 1) // _ROUND * _ROUND
        temporary.mkdir()
        lmdb.open(str(temporary), map_size=rounded, max_readers=_MAX_READERS).close()
        (temporary / USED).touch()
        os.rename(temporary, path)
        return Generation(path)

    def _open(self) -> Any:
        lmdb = load_lmdb()
        try:
            # map_size 0 is the size that the generation was made with; without metasync a power cut may cost the
            # last transaction, but nothing else.
            environment = lmdb.open(str(self.path), map_size=0, create=False, metasync=False, max_readers=_MAX_READERS)
        except lmdb.Error as error:
            if _is_damage(lmdb, error) or not (self.path / DATA).is_file():
                raise FormatError(_damage(self.path, error)) from error
            raise OSError(f"{self.path}: {error}") from error
        environment.reader_check()  # places of readers that were killed
        used, found = _used_bytes(environment), self.size
        if used > found:
            environment.close()
            raise FormatError(_damage(self.path, f"{DATA} has {found} bytes, expected at least {used}"))
        return environment

    def close(self) -> None:
        """Close the files; they are opened again when needed."""
        environment, self._environment = self._environment, None
        if environment is not None:
            environment.close()

    def _opened(self) -> Any:
        if self._environment is None:
            self._environment = self._open()
        return self._environment

    @property
    def size(self) -> int:
        """Bytes of the data file."""
        try:
            return (self.path / DATA).stat().st_size
        except FileNotFoundError:
            return 0

    @contextmanager
    def reader(self) -> Iterator[Callable[[bytes], Optional[memoryview]]]:
        """
        Give a function that looks a key up; what it returns lies in the mapped file and is valid inside the block.

        # Raises

        `GenerationDamaged`.
        """
        lmdb = load_lmdb()
        try:
            with self._opened().begin(buffers=True) as transaction:
                yield transaction.get
        except lmdb.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: Any) -> Exception:
        """What an error of LMDB means for a generation that is open."""
        if _is_damage(load_lmdb(), error):
            return GenerationDamaged(_damage(self.path, error))
        return OSError(f"{self.path}: {error}")

    def number_fitting(self, entries: Sequence[Entry], at_most: int) -> int:
        """How many of the first entries there is room for, in one transaction of `at_most` bytes or one entry."""
        environment = self._opened()
        page = environment.stat()["psize"]
        room = environment.info()["map_size"] - _used_bytes(environment) - _OVERHEAD_PAGES * page
        number = total = 0
        for _, value in entries:
            size = _stored_bytes(len(value), page)
            if total + size > room or (number and total + size > at_most):
                break
            number, total = number + 1, total + size
        return 0 if self.is_closed else number

    def growth(self, entries: Sequence[Entry]) -> int:
        """Bytes that the data file grows by, at most, when these entries are put."""
        page = self._opened().stat()["psize"]
        return sum(_stored_bytes(len(value), page) for _, value in entries) + _OVERHEAD_PAGES * page

    def put(self, entries: Sequence[Entry]) -> None:
        """
        Write entries, in one transaction, over what is there under their keys.

        # Raises

        `GenerationFull`, `GenerationDamaged`, or `OSError` where the system refuses the write; nothing is written then.
        """
        lmdb = load_lmdb()
        try:
            with self._opened().begin(write=True) as transaction:
                for key, value in entries:
                    transaction.put(key, value)
        except lmdb.MapFullError as error:
            self.is_closed = True
            raise GenerationFull(f"{self.path}: {error}") from error
        except lmdb.Error as error:
            raise self._failure(error) from error

    @property
    def is_in_use(self) -> bool:
        """Whether this process has found something here, or puts it here."""
        return self._in_use.is_held

    def use(self) -> None:
        """Keep others from deleting it as long as this process lives, and note the time."""
        if self._in_use.is_held:
            return
        try:
            self._in_use.acquire(exclusive=False)
            os.utime(str(self.path / USED))
        except FileNotFoundError:
            pass  # deleted by another process a moment ago; what this process has mapped stays readable

    @property
    def last_used(self) -> float:
        """When a process began to use it last."""
        try:
            return (self.path / USED).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def delete(self, trash: Path) -> bool:
        """
        Delete it unless a running process uses it.

        # Parameters

        trash : a path beside it that nothing has.
        """
        if not FileLock.is_supported() or self.is_in_use:
            return False
        if not self._in_use.acquire(exclusive=True):
            return False
        try:
            self.close()
            os.rename(self.path, trash)
            shutil.rmtree(trash, ignore_errors=True)
        finally:
            self._in_use.release()
        return True


def fits_into_an_empty_one(length: int, capacity: int) -> bool:
    """Whether a generation of this capacity can ever hold an entry of this length."""
    return _stored_bytes(length, _ROUND) + _OVERHEAD_PAGES * 4096 <= max(capacity, SMALLEST)


def _used_bytes(environment: Any) -> int:
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def _stored_bytes(length: int, page: int) -> int:
    return (length + 64 + page - 1) // page * page + 128


def _is_damage(lmdb: Any, error: Any) -> bool:
    """Whether the files are to blame, not the system, whose errors LMDB passes on without a class of their own."""
    of_system = (lmdb.DiskError, lmdb.LockError, lmdb.MapResizedError, lmdb.MemoryError, lmdb.ReadersFullError)
    return type(error) is not lmdb.Error and not isinstance(error, (*of_system, lmdb.ReadonlyError, lmdb.TlsFullError))


def _damage(path: Path, reason: object) -> str:
    return (
        f"{path} is not a readable part of a layer cache ({reason}). Delete this folder: what it held is computed "
        "again."
    )
