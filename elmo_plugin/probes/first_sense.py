"""The sense to take where the sentence is not looked at, or teaches nothing."""

from pathlib import Path
from typing import Dict, Mapping

from elmo_plugin.embedding.text import TextReader
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.probes.senses import Lemma, lemma_of


def by_counts(counts: Mapping[Lemma, Mapping[str, int]]) -> Dict[Lemma, str]:
    """Take the most frequent sense of the training text; lemmas that are not in it have none."""
    return {lemma: next(iter(senses)) for lemma, senses in counts.items()}


def read_sense_index(path: Path) -> Dict[Lemma, str]:
    """
    Read the first senses of WordNet.

    # Parameters

    path : WordNet's file `index.sense`: a sense key, an offset, the number of the sense and its count in each line.

    # Raises

    `FileNotFoundError`; `FormatError` with the line of what is not as it should be.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such file, expected WordNet's index.sense (Debian's package wordnet-sense-index has it)."
        )
    first: Dict[Lemma, str] = {}
    with TextReader(path) as reader:
        for line in reader:
            where = f"{path}: line {line.number + 1}"
            if len(line.tokens) != 4 or not line.tokens[2].isdecimal():
                raise FormatError(f"{where}: {line.text[:100]!r}, expected a sense key, an offset and two numbers.")
            sense, _, number, _ = line.tokens
            lemma = lemma_of(sense, where)
            if int(number) == 1:
                first[lemma] = sense
    return first
