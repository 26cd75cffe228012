"""
The distinct words of a text.

The token layer knows nothing of the sentence, so a word has one vector in it: that of any of its tokens.
"""

import io
import json
import zipfile
from pathlib import Path
from typing import Dict, List, NamedTuple

import numpy as np

from elmo_plugin.embedding.durable import write_durably
from elmo_plugin.embedding.part_file import DATE, read_array, write_array
from elmo_plugin.embedding.parts_folder import PartsFolder
from elmo_plugin.engine.errors import FormatError

_WORDS, _COUNTS, _FIRSTS = "words.json", "counts.npy", "firsts.npy"


class WordList(NamedTuple):
    """
    Words in the order of their first tokens.

    # Parameters

    words : as they are spelled.
    counts : tokens of each, `(words,)` int64.
    firsts : number of the first token of each, `(words,)` int64, rising.
    """

    words: List[str]
    counts: np.ndarray
    firsts: np.ndarray


def count_words(vectors: PartsFolder) -> WordList:
    """Find the words of a text; memory grows with their number, not with that of the tokens."""
    places: Dict[str, int] = {}
    counts: List[int] = []
    firsts: List[int] = []
    for block in vectors.blocks:
        tokens = [token for line in vectors.lines(block) for token in line]
        assert len(tokens) == block.tokens, (block.path, block.window)
        for number, token in enumerate(tokens, start=block.first):
            place = places.setdefault(token, len(counts))
            if place == len(counts):
                counts.append(0)
                firsts.append(number)
            counts[place] += 1
    return WordList(list(places), np.array(counts, dtype=np.int64), np.array(firsts, dtype=np.int64))


def write_words(words: WordList, path: Path) -> None:
    """Write them durably."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_WORDS, DATE), json.dumps(words.words))
        write_array(archive, _COUNTS, words.counts)
        write_array(archive, _FIRSTS, words.firsts)
    write_durably(path, content.getvalue())


def read_words(path: Path) -> WordList:
    """
    Read them.

    # Raises

    `FormatError` where the file is missing or damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return WordList(
                json.loads(archive.read(_WORDS)), read_array(archive, _COUNTS), read_array(archive, _FIRSTS)
            )
    except MemoryError:
        raise
    except Exception as error:  # of the disk, or anything that a damaged archive lets the libraries raise
        raise FormatError(f"{path}: {error}; expected the words of an index. Build it again.") from error
