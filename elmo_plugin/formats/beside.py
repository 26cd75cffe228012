"""Files that stand beside an hdf5 weight file and belong to it: where they are found, and where they are written."""

from pathlib import Path
from typing import List, Optional

from elmo_plugin.engine.errors import WeightFileError

_VOCABULARIES = ("vocabulary.txt", "vocab.txt")


def options_target(weight_file: Path) -> Path:
    """
    Name the options file to write for a weight file: `x_weights.hdf5` gives `x_options.json`, as AllenNLP publishes
    them, `weights.hdf5` gives `options.json`, and any other `x.hdf5` gives `x_options.json`.
    """
    stem = weight_file.stem
    stem = stem[: -len("weights")] if stem.endswith("weights") else stem + "_"
    return weight_file.with_name(stem + "options.json")


def options_beside(weight_file: Path, what: str = "an hdf5 weight file") -> Path:
    """
    Find the options file of a weight file in its folder.

    # Parameters

    weight_file : the hdf5 file, or whatever else does not carry its options.
    what : what to call it in messages.

    # Returns

    The first that exists of `options_target`, `options.json` and the only `*options.json`.

    # Raises

    `WeightFileError` if there is none, or if it is not clear which.
    """
    target = options_target(weight_file)
    for candidate in (target, weight_file.with_name("options.json")):
        if candidate.is_file():
            return candidate
    others = sorted(weight_file.parent.glob("*options.json"))
    if len(others) == 1:
        return others[0]
    found = ", ".join(path.name for path in others) or "none"
    raise WeightFileError(
        f"{weight_file}: {what} needs its options file beside it; expected {target.name!r} or "
        f"'options.json', found {found}. Copy it there, or name both files."
    )


def vocabulary_beside(weight_file: Path) -> Optional[List[str]]:
    """
    Read the vocabulary of a word-level model, or of a softmax, from the folder of its weights.

    # Parameters

    weight_file : the hdf5 file, or the index of a checkpoint.

    # Returns

    The lines of `vocabulary.txt` or `vocab.txt`, None if there is neither.
    """
    for name in _VOCABULARIES:
        path = weight_file.with_name(name)
        if path.is_file():
            return read_vocabulary(path)
    return None


def read_vocabulary(path: Path) -> List[str]:
    """
    Read a vocabulary as bilm-tf has it: UTF-8, one word a line.

    # Raises

    `WeightFileError` if it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WeightFileError(f"{path}: cannot be read ({error}); expected one word a line in UTF-8.") from error
    # not splitlines(), which also cuts at characters that may be words; bilm-tf strips each line
    return [line.strip() for line in text.rstrip("\n").split("\n")]
