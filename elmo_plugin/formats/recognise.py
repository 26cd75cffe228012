"""What a file or a folder holds, told from the first bytes of its content: a suffix is only a name."""

import struct
from pathlib import Path
from typing import List, Optional, Tuple

from elmo_plugin.engine.errors import FormatError, WeightFileError

HDF5 = "hdf5"
SAFETENSORS = "safetensors"
#: a trained AllenNLP model: a tar file in gzip, or weights saved by PyTorch, which are a zip file
ARCHIVE = "archive"

_ARCHIVE_FILES = ("weights.th", "best.th", "model.tar.gz")

# First bytes, and what to say about them
_FOREIGN: Tuple[Tuple[bytes, str], ...] = (
    (b"\x80", "a pickle, such as an old PyTorch checkpoint or a part of an ELMoForManyLangs model"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
    (b"<", "an HTML or XML page; the download probably failed"),
    (b"{", "JSON text, such as an options.json"),
)
_EXPECTED = "expected the weights of a biLM as hdf5 or safetensors, or a trained model (model.tar.gz)"


def kind_of(path: Path) -> str:
    """
    Tell the format of a weight file.

    # Parameters

    path : an existing file.

    # Returns

    `HDF5`, `SAFETENSORS` or `ARCHIVE`.

    # Raises

    `FormatError` naming what the file looks like instead, `WeightFileError` if it cannot be read.
    """
    if not path.is_file():
        raise WeightFileError(f"{path}: no regular file; {_EXPECTED}.")  # reading a pipe would wait for ever
    start = _first_bytes(path)
    kind = _kind(start)
    if kind is not None:
        return kind
    if not start:
        raise FormatError(f"{path}: the file is empty; {_EXPECTED}. Was it copied completely?")
    looks = next((text for magic, text in _FOREIGN if start.lstrip().startswith(magic)), None)
    raise FormatError(f"{path}: looks like {looks or f'no known format (begins with {start[:8]!r})'}; {_EXPECTED}.")


def weight_file_in(folder: Path) -> Path:
    """
    Find the weight file in a folder, whatever its name; in AllenNLP's serialization directory that is the model's.

    # Raises

    `WeightFileError` if there is none, or if it is not clear which.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise WeightFileError(f"{folder}: the folder cannot be read ({error.strerror}).") from error
    found = [path for path in files if _kind(_first_bytes(path)) in (HDF5, SAFETENSORS)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise WeightFileError(f"{folder}: several files that may be weights: {names}. Name one of them.")
    for name in _ARCHIVE_FILES:
        if (folder / name).is_file():
            return folder / name
    raise WeightFileError(
        f"{folder}: no weight file in this folder; {_EXPECTED}. {_describe([path.name for path in files])}"
    )


def _describe(names: List[str]) -> str:
    if "token_embedder.pkl" in names and "encoder.pkl" in names:
        return "It looks like an ELMoForManyLangs model, a format that is not read here."
    if "checkpoint" in names or any(name.endswith(".index") for name in names):
        return "It looks like a TensorFlow checkpoint of bilm-tf; write its weights with bilm-tf's dump_weights."
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return f"It holds {shown or 'no files'}."


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(32)
    except OSError as error:
        raise WeightFileError(f"{path}: cannot be read ({error.strerror}); {_EXPECTED}.") from error


def _kind(start: bytes) -> Optional[str]:
    if start.startswith(b"\x89HDF\r\n\x1a\n"):
        return HDF5
    if start.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        return ARCHIVE
    # safetensors: the length of the header in eight bytes, then the header, a JSON object. The library's own limit
    # is 100 MB; a larger number is text or noise.
    if len(start) > 8 and start[8:9] == b"{" and struct.unpack("<Q", start[:8])[0] <= 100_000_000:
        return SAFETENSORS
    return None
