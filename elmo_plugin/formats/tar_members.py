"""Take files out of an archive of AllenNLP in one pass, whatever else is in it."""

import shutil
import tarfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Dict, Iterator, Mapping, Optional

from elmo_plugin.engine.errors import EngineError, FormatError
from elmo_plugin.formats.unpacked_size import check_size, is_of_disk

_BLOCK = 1 << 20


def is_tar(path: Path, where: Optional[str] = None) -> bool:
    """
    Whether a file is a tar archive, compressed or not.

    # Parameters

    path : the file.
    where : what to call it in messages; None for its path.

    # Raises

    `FormatError` where it cannot be read.
    """
    with _damage_named(where or str(path)):
        return tarfile.is_tarfile(path)


def take_out(archive: Path, targets: Mapping[str, Path], where: str, limit: Optional[int] = None) -> None:
    """
    Write members of an archive to files.

    # Parameters

    archive : a tar file, compressed or not.
    targets : names of members, all at the top of the archive, and the files to write them to.
    where : what to call the archive in messages.
    limit : bytes that the whole archive may unpack to; None for any number.

    # Raises

    `FormatError` where a member is missing, the archive is damaged, or it unpacks to more than the limit.
    """
    left: Dict[str, Path] = dict(targets)
    with _damage_named(where):
        with tarfile.open(archive) as members:
            for member in members:
                # The size is known before anything is unpacked.
                _check_size(member.offset_data + member.size, where, limit)
                name = _name_of(member)
                source = members.extractfile(member) if name in left and member.isfile() else None
                if source is not None:
                    target = left.pop(name)
                    check_size(archive, member.size, target.parent)
                    with source, target.open("wb") as file:
                        shutil.copyfileobj(source, file)
            _read_to_the_end(members, where, limit)
    if left:
        raise FormatError(f"{where}: not an archive of AllenNLP, it has no {' and no '.join(sorted(left))}.")


def read_member(archive: Path, name: str, limit: int) -> Optional[bytes]:
    """The first `limit` bytes of a member; None where there is none of that name. The archive is one by `is_tar`."""
    with opened(archive, name) as source:
        return None if source is None else source.read(limit)


@contextmanager
def opened(archive: Path, name: str) -> Iterator[Optional[IO[bytes]]]:
    """
    Open a member; None where there is none of that name. The archive is one by `is_tar`.

    # Raises

    `FormatError` where it is damaged, as far as it is read; so is whatever else is raised while the member is open.
    """
    with _damage_named(str(archive)), tarfile.open(archive) as members:
        found = (member for member in members if _name_of(member) == name and member.isfile())
        member = next(found, None)
        source = None if member is None else members.extractfile(member)
        with source or nullcontext():
            yield source


@contextmanager
def _damage_named(where: str) -> Iterator[None]:
    """Raise `FormatError` for whatever a damaged archive lets the library raise."""
    try:
        yield
    except (EngineError, MemoryError):
        raise
    except Exception as error:  # beside its own: ValueError for numbers in headers, LZMAError, zlib.error, EOFError
        if is_of_disk(error):
            raise
        raise FormatError(f"{where}: damaged archive ({error}).") from error


def _name_of(member: tarfile.TarInfo) -> str:
    """Read by name and written by us: a member's own path is never used. "./" is what `tar` itself writes."""
    return member.name[2:] if member.name.startswith("./") else member.name


def _read_to_the_end(members: tarfile.TarFile, where: str, limit: Optional[int]) -> None:
    """To where gzip keeps the sum that tells whether all of this is what was written."""
    file = members.fileobj
    while file is not None and file.read(_BLOCK):
        _check_size(file.tell(), where, limit)


def _check_size(size: int, where: str, limit: Optional[int]) -> None:
    if limit is not None and size > limit:
        raise FormatError(f"{where}: unpacks to more than {limit:,} bytes, which is the limit.")
