"""Files that are on the disk under their name when they are whole, also where the machine stops."""

import os
from pathlib import Path
from typing import IO

TEMPORARY = ".tmp"


def write_durably(path: Path, content: bytes) -> None:
    """Write a small file."""
    temporary = path.with_name(path.name + TEMPORARY)
    temporary.write_bytes(content)
    put_in_place(temporary, path)


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a file its name, once its content is on the disk."""
    sync(temporary)
    os.replace(temporary, path)
    sync(path.parent)


def let_go(file: IO[bytes]) -> None:
    """
    Begin to bring what was written so far to the disk, and drop from memory what is there; wait for nothing.

    For files that nobody reads soon; the `sync` at their end has less to wait for.
    """
    file.flush()
    if hasattr(os, "posix_fadvise"):  # elsewhere the system decides alone
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(str(path), os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
