"""Files that appear whole or not at all."""

import os
import re
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """
    Give a temporary file beside `path` that takes its place when the block ends well, and vanishes when it does not.

    # Parameters

    path : the file to write; its folder is made if needed. Where it is a link, the file that it leads to is written.

    # Raises

    `IsADirectoryError` where a folder has that name, `FileExistsError` where a device or a pipe has it.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder, expected the name of a file to write.")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path}: is a device or a pipe, expected the name of a file to write.")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        # Whoever wrote it may have made a file for its own eyes only (safetensors does).
        temporary.chmod(mode)
        os.replace(temporary, path)
    finally:
        if temporary.exists():
            temporary.unlink()


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files that processes left there which were killed; none may be writing to the folder now."""
    for path in folder.glob(".*.tmp"):
        if re.fullmatch(r"\.[0-9a-f]{32}\.tmp", path.name):
            path.unlink()
