"""What a file or a folder holds, told from the bytes of its content: a suffix is only a name."""

import glob
import re
import struct
import zipfile
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple

from elmo_plugin.engine.errors import FormatError, WeightFileError
from elmo_plugin.formats.tensor_bundle.table import MAGIC

HDF5 = "hdf5"
SAFETENSORS = "safetensors"
#: a trained AllenNLP model: a tar file in gzip, or weights saved by PyTorch, which are a zip file
ARCHIVE = "archive"
#: the index of a checkpoint of TensorFlow
TF_CHECKPOINT = "tf_checkpoint"
#: a folder of ELMoForManyLangs
MANY_LANGS = "many_langs"
#: any other zip file, with one of the above in it
ZIP = "zip"

MANY_LANGS_FILES = ("token_embedder.pkl", "encoder.pkl")
_ARCHIVE_FILES = ("weights.th", "best.th", "model.tar.gz")
_LATEST_CHECKPOINT = re.compile(r'^model_checkpoint_path: "(.*)"', re.MULTILINE)

# First bytes, and what to say about them
_FOREIGN: Tuple[Tuple[bytes, str], ...] = (
    (b"\x80", "a pickle, such as an old PyTorch checkpoint or a part of an ELMoForManyLangs model"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
    (b"<", "an HTML or XML page; the download probably failed"),
    (b"{", "JSON text, such as an options.json"),
    (b"model_checkpoint_path", "the list of a folder's TensorFlow checkpoints; name the folder"),
)
_EXPECTED = (
    "expected the weights of a biLM as hdf5, safetensors, TensorFlow checkpoint or ELMoForManyLangs folder, a zip file "
    "of these, or a trained model (model.tar.gz)"
)


class _Ends(NamedTuple):
    start: bytes
    end: bytes


def kind_of(path: Path) -> str:
    """
    Tell the format of a weight file.

    # Parameters

    path : an existing file, or the folder of an ELMoForManyLangs model.

    # Returns

    `HDF5`, `SAFETENSORS`, `TF_CHECKPOINT`, `MANY_LANGS`, `ZIP` or `ARCHIVE`.

    # Raises

    `FormatError` naming what the file looks like instead, `WeightFileError` if it cannot be read.
    """
    if _is_many_langs(path):
        return MANY_LANGS
    if not path.is_file():
        raise WeightFileError(f"{path}: no regular file; {_EXPECTED}.")  # reading a pipe would wait for ever
    ends = _ends(path)
    kind = _kind(ends)
    if kind == ARCHIVE and not _is_archive(path, ends):
        return ZIP
    if kind is not None:
        return kind
    start = ends.start[:32]
    if not start:
        raise FormatError(f"{path}: the file is empty; {_EXPECTED}. Was it copied completely?")
    looks = next((text for magic, text in _FOREIGN if start.lstrip().startswith(magic)), None)
    if looks is None and path.name.endswith(".index"):
        looks = "the index of a TensorFlow checkpoint, but without its end"
    raise FormatError(f"{path}: looks like {looks or f'no known format (begins with {start[:8]!r})'}; {_EXPECTED}.")


def kind_of_bytes(start: bytes) -> Optional[str]:
    """Tell the format of a file by its first bytes, 64 or more: `HDF5`, `SAFETENSORS`, `ARCHIVE` or None."""
    return _kind(_Ends(start, b""))


def weight_file_in(folder: Path) -> Path:
    """
    Find the weights in a folder, whatever their name; in AllenNLP's serialization directory that is the model's.

    An hdf5 file wins over the TensorFlow checkpoint that it was made from.

    # Returns

    A file, or the folder itself for an ELMoForManyLangs model.

    # Raises

    `WeightFileError` if there is none, or if it is not clear which.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise WeightFileError(f"{folder}: the folder cannot be read ({error.strerror}).") from error
    kinds = {path: _kind(_ends(path)) for path in files}
    found = [path for path in files if kinds[path] in (HDF5, SAFETENSORS)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise WeightFileError(f"{folder}: several files that may be weights: {names}. Name one of them.")
    if _is_many_langs(folder):
        return folder
    checkpoints = [path for path in files if path.name.endswith(".index") or kinds[path] == TF_CHECKPOINT]
    checkpoints = checkpoints or sorted(folder.glob("variables/*.index"))  # a SavedModel
    if checkpoints:
        return _latest(folder, checkpoints)
    for name in _ARCHIVE_FILES:
        if (folder / name).is_file():
            return folder / name
    shown = ", ".join(path.name for path in files[:10]) + (", ..." if len(files) > 10 else "")
    raise WeightFileError(f"{folder}: no weights in this folder; {_EXPECTED}. It holds {shown or 'no files'}.")


def checkpoint_named(path: Path) -> Optional[Path]:
    """
    Find the index of a TensorFlow checkpoint by the other names that it goes by: `x`, `x.meta`, `x.data-...`.

    # Parameters

    path : what the user wrote, a file or nothing.

    # Returns

    The index file, None if there is none.
    """
    stem = re.sub(r"\.(meta|data-\d+-of-\d+)$", "", path.name)
    index = path.with_name(f"{stem}.index")
    return index if stem and index.is_file() else None


def files_at(path: Path, kind: str) -> List[Path]:
    """
    List the files of weights: of a checkpoint those with the numbers too, which are beside its index.

    # Parameters

    path : as `weight_file_in` or `checkpoint_named` returns it.
    kind : of it, by `kind_of`.
    """
    if path.is_file() and kind != TF_CHECKPOINT:
        return [path]
    found = path.parent.glob(glob.escape(path.stem) + ".*") if kind == TF_CHECKPOINT else path.iterdir()
    return [file for file in found if file.is_file()]


def _latest(folder: Path, checkpoints: List[Path]) -> Path:
    """Choose among the checkpoints of a training as TensorFlow does, by the file that lists them."""
    if len(checkpoints) == 1:
        return checkpoints[0]
    names = ", ".join(path.name for path in checkpoints)
    try:
        latest = _LATEST_CHECKPOINT.search((folder / "checkpoint").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        latest = None
    # The name alone counts: the folder may have moved since.
    wanted = re.split(r"[/\\]", latest.group(1))[-1] + ".index" if latest else None
    chosen = [path for path in checkpoints if path.name == wanted]
    if not chosen:
        found = f"its file 'checkpoint' names {wanted}" if wanted else "there is no file 'checkpoint' that names one"
        raise WeightFileError(f"{folder}: several checkpoints: {names}; {found}. Name one of them.")
    return chosen[0]


def _is_many_langs(path: Path) -> bool:
    return all((path / name).is_file() for name in MANY_LANGS_FILES)


def _is_archive(path: Path, ends: _Ends) -> bool:
    """Whether a file that begins like a trained model was written by PyTorch, or is a tar file in gzip."""
    if not ends.start.startswith(b"PK"):
        return True
    try:
        with zipfile.ZipFile(path) as file:
            return any(name.split("/")[-1] == "data.pkl" for name in file.namelist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):  # cut off: the list is at the end
        return b"data.pkl" in ends.start


def _ends(path: Path) -> _Ends:
    try:
        with path.open("rb") as file:
            start = file.read(64)
            file.seek(max(0, path.stat().st_size - len(MAGIC)))
            return _Ends(start, file.read(len(MAGIC)))
    except OSError as error:
        raise WeightFileError(f"{path}: cannot be read ({error.strerror}); {_EXPECTED}.") from error


def _kind(ends: _Ends) -> Optional[str]:
    start = ends.start
    if start.startswith(b"\x89HDF\r\n\x1a\n"):
        return HDF5
    if start.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        return ARCHIVE
    # safetensors: the length of the header in eight bytes, then the header, a JSON object. The library's own limit
    # is 100 MB; a larger number is text or noise.
    if len(start) > 8 and start[8:9] == b"{" and struct.unpack("<Q", start[:8])[0] <= 100_000_000:
        return SAFETENSORS
    return TF_CHECKPOINT if ends.end == MAGIC else None
