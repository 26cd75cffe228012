"""How much may come out of a packed file: no more than weights can have become smaller, and than the disk takes."""

import errno
import shutil
from pathlib import Path

from elmo_plugin.engine.errors import FormatError

# Weights hardly shrink and text shrinks to a tenth; deflate itself could shrink zeros to a thousandth.
MAX_RATIO = 100
# So that a small file of a few words passes.
ALWAYS_ALLOWED = 1 << 24

# The disk is full, a file may not be that large, it cannot be read: now, or by this user.
_DISK = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EMFILE, errno.ENFILE)


def check_size(path: Path, content: int, folder: Path) -> None:
    """
    Refuse to unpack what cannot be weights, or has no room.

    # Parameters

    path : the packed file.
    content : bytes that would come out of it.
    folder : where they would go.

    # Raises

    `FormatError`.
    """
    size = path.stat().st_size
    if is_too_much(content, size):
        raise refused(path, f"its {size} bytes would become {content}, more than {MAX_RATIO} times as many")
    free = shutil.disk_usage(folder).free
    if content > free:
        raise FormatError(
            f"{path}: its content has {content} bytes, but only {free} are free in {folder.parent}. Make room, or "
            "unpack it elsewhere and name the folder."
        )


def is_too_much(content: int, stored: int) -> bool:
    """Whether so many bytes of content cannot be weights when this is what is stored of them."""
    return content > max(ALWAYS_ALLOWED, MAX_RATIO * stored)


def is_of_disk(error: Exception) -> bool:
    """Whether an error while something is unpacked is about the disk, and to be said as it is, not about the file."""
    return isinstance(error, OSError) and error.errno in _DISK


def refused(path: Path, found: str) -> FormatError:
    """The error about a packed file that would do harm."""
    return FormatError(f"{path}: refused, because {found}. Weights are not packed like that; where does it come from?")
