"""Files that a path names, or a pattern."""

import glob
import os
from typing import List


def matching(path: str) -> List[str]:
    """
    List the files and folders that a path names, in order: itself where it is there, or else those that match the
    pattern in its last part.
    """
    if os.path.exists(path):
        return [path]
    folder, pattern = os.path.split(path)
    # Brackets in the names of folders are letters, not alternatives.
    return sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))
