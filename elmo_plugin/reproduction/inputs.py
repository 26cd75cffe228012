"""What a training reads, by its content: the names in a configuration do not say what is behind them."""

import hashlib
import zipfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Mapping

from elmo_plugin.dataset_readers.joined import expand
from elmo_plugin.dataset_readers.slice import parse
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats import pretrained
from elmo_plugin.formats.archive import ARCHIVE_WEIGHTS
from elmo_plugin.formats.sources import files_of
from elmo_plugin.formats.tar_members import is_tar, opened
from elmo_plugin.reproduction.cells import resolve
from elmo_plugin.reproduction.data_sets import found_at
from elmo_plugin.reproduction.named import WEIGHTS, kind_of, named_in

_BLOCK = 1 << 20


def inputs_of(config: Path, variables: Mapping[str, str], with_fetched: bool = True) -> Dict[str, str]:
    """
    Describe what an experiment reads.

    # Parameters

    with_fetched : describe what is named by an address, too, as far as AllenNLP's cache has it: this fetches nothing.
        The cache of the Hugging Face Hub (`hf://`) is not looked at.

    # Returns

    A digest of the content by what it is of: "data", "word vectors", "biLM". A kind of which something is not there is
    left out.
    """
    contents: Dict[str, List[str]] = {}
    for key, name in sorted(set(named_in(resolve(config, variables)))):
        digest = _digest_of_weights if key == WEIGHTS else _digest
        digests = [digest(path, *_state(path)) for path in _files_of(key, name, with_fetched)]
        contents.setdefault(kind_of(key), []).append("".join(digests))
    return {kind: _hash("".join(parts).encode()).hexdigest() for kind, parts in contents.items() if all(parts)}


def changed(recorded: Mapping[str, str], now: Mapping[str, str]) -> List[str]:
    """Name what is not what it was, as far as both are known."""
    return [kind for kind, digest in recorded.items() if now.get(kind, digest) != digest]


def _files_of(key: str, name: str, with_fetched: bool) -> List[Path]:
    """None where something of it is at an address and not here."""
    parts = pretrained.addresses(name) or [name] if key == WEIGHTS else expand(parse(name).file)
    files: List[Path] = []
    for part in parts:
        if pretrained.is_url(part):
            path = pretrained.cached(part) if with_fetched else None
            if path is None:
                return []
            files.append(path)
        elif key == WEIGHTS:
            files += [pretrained.builtin()] if part == pretrained.BUILTIN else sorted(set(files_of(part)))
        else:
            for path in found_at(part):
                files += [file for file in (sorted(path.rglob("*")) or [path]) if file.is_file()]
    return files


def _state(path: Path) -> List[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


@lru_cache(maxsize=None)
def _digest(path: Path, size: int, modified: int) -> str:
    """Of a file in one state, so that it is read once for all trainings of a table."""
    digest = _hash()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(_BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()


@lru_cache(maxsize=None)
def _digest_of_weights(path: Path, size: int, modified: int) -> str:
    """Of an archive that of its tensors: the rest says where and when they were trained, and changes each time."""
    with suppress(FormatError):  # whoever reads the weights says what is wrong with them
        if is_tar(path):
            with opened(path, ARCHIVE_WEIGHTS) as file:
                if file is not None and zipfile.is_zipfile(file):
                    return _digest_of_tensors(zipfile.ZipFile(file))
    return _digest(path, size, modified)


def _digest_of_tensors(members: zipfile.ZipFile) -> str:
    """Of what PyTorch writes: a folder, named after the file that it was first written to, with tensors and names."""
    digests = []
    for member in members.namelist():
        name = member.partition("/")[2]
        if name == "data.pkl" or name.startswith("data/"):
            digests.append(f"{name} {_hash(members.read(member)).hexdigest()}")
    return _hash("\n".join(digests).encode()).hexdigest()


def _hash(content: bytes = b"") -> hashlib.blake2b:
    return hashlib.blake2b(content, digest_size=16)
