"""Locks between processes. The operating system gives them back when a process ends, however it ends."""

import os
import time
from pathlib import Path
from typing import Any, Optional, Tuple

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_POLL_SECONDS = 0.005


class FileLock:
    """
    A lock on a file that exists for this purpose alone.

    # Parameters

    path : the file, made when it is first needed; its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: Optional[int] = None
        self._owner = 0

    def __del__(self) -> None:
        self.release()

    @property
    def is_held(self) -> bool:
        return self._descriptor is not None

    @property
    def is_in_place(self) -> bool:
        """Whether what is locked is still the file of this path; who had the lock before may have removed it."""
        try:
            return self._descriptor is not None and os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False

    @property
    def descriptors(self) -> Tuple[int, ...]:
        """For `pass_fds` of `subprocess`: a process that inherits them has the lock too, until it ends."""
        return () if fcntl is None or self._descriptor is None else (self._descriptor,)

    @staticmethod
    def is_supported() -> bool:
        """Whether locks keep processes apart here; where they do not, every lock can be had."""
        return fcntl is not None

    def acquire(self, exclusive: bool, patience: float = 0.0) -> bool:
        """
        Take the lock.

        # Parameters

        exclusive : alone, or together with others that do not ask to be alone.
        patience : seconds to go on trying while somebody else has it.

        # Returns

        Whether it was taken.
        """
        assert self._descriptor is None, self._path
        descriptor = os.open(str(self._path), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            taken = _lock(descriptor, exclusive, time.monotonic() + patience)
        except BaseException:
            os.close(descriptor)
            raise
        if taken:
            self._descriptor, self._owner = descriptor, os.getpid()
        else:
            os.close(descriptor)
        return taken

    def release(self) -> None:
        """Give the lock back; nothing where it is not held. A child process gives back its copy alone."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if fcntl is not None and self._owner == os.getpid():
            # Not only closed: a child process may have a copy of the descriptor.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _lock(descriptor: int, exclusive: bool, deadline: float) -> bool:
    if fcntl is None:
        return True
    operation = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB
    while True:
        try:
            fcntl.flock(descriptor, operation)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
