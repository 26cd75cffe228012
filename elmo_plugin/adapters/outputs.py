"""What a command may write to."""

import os
from pathlib import Path
from typing import Iterable, Union

from allennlp.common.checks import ConfigurationError


def check_output(output: Path, inputs: Iterable[Union[str, "os.PathLike[str]"]]) -> None:
    """
    Refuse, before the work, what cannot be written, and what would be overwritten by mistake.

    # Parameters

    output : the file to write.
    inputs : what is read: files, and folders with all that is in them; what is not there does not matter.

    # Raises

    `ConfigurationError` for a folder, a device, and a file that is read.
    """
    if output.is_dir():
        raise ConfigurationError(f"{output}: is a folder, expected the file to write.")
    if not output.exists():
        return
    if not output.is_file():
        raise ConfigurationError(f"{output}: is a device or a pipe, expected the file to write.")
    for given in map(Path, inputs):
        files = given.rglob("*") if given.is_dir() else [given]
        if any(file.exists() and output.samefile(file) for file in files):
            raise ConfigurationError(f"{output}: is read ({given}), expected another file to write.")
