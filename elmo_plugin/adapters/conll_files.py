"""Files in the columns of CoNLL-2012, before AllenNLP's parser reads them."""

from collections import deque
from os import PathLike
from typing import Optional, Union


def fault_at_end(path: "Union[str, PathLike[str]]") -> Optional[str]:
    """
    Say why the last sentence of a file would be lost: AllenNLP's parser leaves out one that the file ends within.

    Returns what was found and what to do, without the name of the file; None where its last sentence is whole.

    # Raises

    `UnicodeDecodeError` where the file is not UTF-8.
    """
    with open(path, encoding="utf-8") as lines:
        last = "".join(deque(lines, maxlen=1)).strip()
    if not last or last.startswith("#"):
        return None
    return (
        f'the last line is {last!r}, expected an empty one or "#end document" behind the last sentence: complete the '
        "file if it was cut off, else append a line"
    )
