"""Where the weights are that a user names: a name, a URL, a path, a folder, one of the names of a checkpoint."""

from contextlib import suppress
from pathlib import Path
from typing import List, Optional, Tuple, Union

from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.formats import pretrained
from elmo_plugin.formats.beside import options_beside
from elmo_plugin.formats.recognise import HDF5, TF_CHECKPOINT, checkpoint_named, files_at, kind_of, weight_file_in

Source = Union[str, Path]


def locate(source: Source) -> Tuple[Optional[Path], Path]:
    """
    Find a biLM by its name, its address or its path.

    # Parameters

    source : as `read_weights` takes it.

    # Returns

    The options file, None where the weights carry their options or have them beside, and the weights: a file, or a
    folder that is one model.

    # Raises

    `WeightFileError` where there is nothing, or several.
    """
    located = pretrained.locate(source) if isinstance(source, str) else None
    if located is not None:
        return located
    if source == "":
        raise WeightFileError(f"the weights are '', expected a path, a URL or one of the names {pretrained.names()}.")
    found = _weights_at(Path(source).expanduser())
    if found is None:
        raise WeightFileError(
            f"{source}: no such file or folder, and not one of the names {pretrained.names()}. Check the spelling; "
            f"a relative path starts at {Path.cwd()}."
        )
    return None, found


def locate_pair(options_file: Source, weight_file: Source) -> Tuple[Path, Path]:
    """
    Find the two files of a pair; as `locate` otherwise.

    # Parameters

    options_file, weight_file : as `read_pair` takes them.
    """
    options_path, weight_path = (
        pretrained.fetch(str(source)) if pretrained.is_url(str(source)) else Path(source).expanduser()
        for source in (options_file, weight_file)
    )
    found = _weights_at(weight_path)
    if found is None:
        raise WeightFileError(f"{weight_file}: no such file, expected the file with the weights.")
    return options_path, found


def files_of(source: Source, options_file: Optional[Source] = None) -> List[Path]:
    """
    List the files of a biLM that are this user's own, so that nothing is written over them.

    # Parameters

    source, options_file : as `read_weights`, or `read_pair`, takes them.

    # Returns

    None for a name or a URL, and for what is not there.
    """
    given = [Path(path).expanduser() for path in (source, options_file) if path and not _is_fetched(path)]
    found = None if _is_fetched(source) else _weights_at(Path(source).expanduser())
    if found is None:
        return [path for path in given if path.is_file()]
    kind = kind_of(found)
    files = files_at(found, kind)
    if options_file is None and kind in (HDF5, TF_CHECKPOINT):
        with suppress(WeightFileError):  # whoever reads the weights says so
            files.append(options_beside(found))
    return files + [path for path in given if path.is_file()]


def _is_fetched(source: Source) -> bool:
    return isinstance(source, str) and (source in pretrained.names() or pretrained.is_url(source))


def _weights_at(path: Path) -> Optional[Path]:
    """The file with the weights, or the folder that is one model, for a path that the user named."""
    if path.is_dir():
        return weight_file_in(path)
    return checkpoint_named(path) or (path if path.exists() else None)
