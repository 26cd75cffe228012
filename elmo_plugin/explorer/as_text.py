"""The numbers of a plot as lines with tabs: for a screen reader, and to be pasted into a table."""

from typing import List, Sequence

import numpy as np

from elmo_plugin.explorer.spread import Spread


def heat_map_text(first: Sequence[str], second: Sequence[str], similarities: np.ndarray) -> str:
    """Write cosines `(first, second)`, the second sentence across."""
    rows = [["", *second]]
    rows += [[word, *(f"{value:.3f}" for value in row)] for word, row in zip(first, similarities)]
    return _lines(rows)


def spread_text(found: Spread) -> str:
    """Write a line for each occurrence."""
    rows = [["component 1", "component 2", "sense", "where", "word", "sentence"]]
    for one, (x, y) in zip(found.occurrences, found.points):
        word = " ".join(one.tokens[one.start : one.stop])
        rows.append([f"{x:.3f}", f"{y:.3f}", one.sense, one.source, word, " ".join(one.tokens)])
    return _lines(rows)


def _lines(rows: List[List[str]]) -> str:
    return "\n".join("\t".join(row) for row in rows)
