"""
Zip files with a model in them, as the NLPL repository publishes them: unpacked for the time of reading, nowhere else.

Nothing in a zip file is trusted: a member that would land outside of the folder, a link, a password, or far more
content than such a file can hold, and the whole file is refused.
"""

import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List

from elmo_plugin.engine.errors import EngineError, FormatError
from elmo_plugin.formats.recognise import HDF5, SAFETENSORS, kind_of_bytes
from elmo_plugin.formats.unpacked_size import check_size, is_of_disk, refused

MAX_MEMBERS = 10_000

# What zipfile raises for a file that is damaged, cut off, or not readable for other reasons
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    KeyError,
)
_CHECKPOINT_PART = re.compile(r".*\.(index|meta|data-\d+-of-\d+)")


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """
    Yield a temporary folder with the content of a zip file, gone when the block ends.

    Errors about files in that folder are raised as errors about the zip file. A TensorFlow checkpoint that lies beside
    hdf5 or safetensors weights is left out: it is the same model.

    # Parameters

    path : the zip file; its files may be in one folder inside.

    # Raises

    `FormatError` where it is damaged, or would do harm; `OSError` where the disk is full or broken.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            _unpack(path, folder)
            yield _single_folder(folder)
        except EngineError as error:
            inside = str(error).replace(f"{folder}/", f"{path}: ").replace(str(folder), str(path))
            raise type(error)(inside) from error


def _unpack(path: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
            _check(path, members, folder)
            for member in _wanted(file, members):
                target = folder.joinpath(*member.filename.split("/"))
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(member) as source, target.open("xb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)  # no more than the member's declared size
    except EngineError:
        raise
    except _DAMAGE as error:
        if is_of_disk(error):
            raise
        raise FormatError(
            f"{path}: cannot be read as a zip file ({error}). If it was copied or downloaded, compare its size with "
            "the original's and fetch it again."
        ) from error


def _check(path: Path, members: List[zipfile.ZipInfo], folder: Path) -> None:
    for member in members:
        parts = member.filename.split("/")
        is_outside = any(part in ("", ".", "..") for part in parts) or bool(re.search(r"[\\:\0]", member.filename))
        if is_outside:
            raise refused(path, f"its member {member.filename!r} has a path that leads out of the folder")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise refused(path, f"its member {member.filename!r} is a link")
        if member.flag_bits & 1:
            raise FormatError(
                f"{path}: its member {member.filename!r} needs a password. Unpack it and name the folder."
            )
    if len(members) > MAX_MEMBERS:
        raise refused(path, f"it has {len(members)} members, expected at most {MAX_MEMBERS}")
    check_size(path, sum(member.file_size for member in members), folder)


def _wanted(file: zipfile.ZipFile, members: List[zipfile.ZipInfo]) -> List[zipfile.ZipInfo]:
    """Leave the checkpoint, which may be several times as large, where weights beside it were made from it."""
    for member in members:
        with file.open(member) as content:
            if kind_of_bytes(content.read(64)) in (HDF5, SAFETENSORS):
                return [other for other in members if not _CHECKPOINT_PART.fullmatch(other.filename)]
    return members


def _single_folder(folder: Path) -> Path:
    """Go into the one folder in which everything is, if that is so."""
    entries = [entry for entry in folder.iterdir() if entry.name != "__MACOSX"]
    while len(entries) == 1 and entries[0].is_dir():
        folder = entries[0]
        entries = list(folder.iterdir())
    return folder
