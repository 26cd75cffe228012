"""
SemCor as lines of JSON, also gzipped: a sentence a line, with lists of equal length.

    {"doc": "br-a01", "sent": "1", "tokens": ["He", "plays", "well"], "senses": [null, "play%2:33:00::", null]}

A multiword unit is one token, joined by underscores. Several senses of a token stand as `spirit%1:18:01::;1:26:00::`.
"""

import json
from pathlib import Path
from typing import Any, List, Tuple

from elmo_plugin.embedding.text import TextLine, TextReader
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.probes.senses import SenseText, SenseWord, lemma_of, tokens_of


def read_semcor(path: Path) -> SenseText:
    """
    Read a file.

    # Raises

    `FormatError` with the line of what is not as it should be.
    """
    sentences: List[List[str]] = []
    words: List[SenseWord] = []
    with TextReader(path) as reader:
        for line in reader:
            if not line.tokens:
                continue
            where = f"{path}: line {line.number + 1}"
            name, units, senses = _parse(line, where)
            tokens: List[str] = []
            for place, (unit, keys) in enumerate(zip(units, senses)):
                start = len(tokens)
                tokens.extend(tokens_of(unit))
                if keys is not None:
                    every = _senses(keys, where)
                    words.append(
                        SenseWord(
                            f"{name}.{place}", len(sentences), start, len(tokens), lemma_of(every[0], where), every
                        )
                    )
            sentences.append(tokens)
    return SenseText(sentences, words)


def _parse(line: TextLine, where: str) -> Tuple[str, List[str], List[Any]]:
    try:
        content = json.loads(line.text)
        name, units, senses = f"{content['doc']}.{content['sent']}", content["tokens"], content["senses"]
        is_right = isinstance(units, list) and isinstance(senses, list) and len(units) == len(senses)
        is_right = is_right and all(isinstance(unit, str) and unit.strip() for unit in units)
        "".join(units if is_right else ()).encode("utf-8")  # half of a character is a ValueError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(
            f'{where}: {error!r}; expected a JSON object with "doc", "sent", "tokens" and "senses".'
        ) from error
    if not is_right:
        raise FormatError(f'{where}: "tokens" and "senses" are not lists of the same length, of words and senses.')
    return name, units, senses


def _senses(keys: Any, where: str) -> Tuple[str, ...]:
    if not isinstance(keys, str):
        raise FormatError(f"{where}: a sense is {keys!r}, expected a string or null.")
    first, *others = keys.split(";")
    lemma = first.partition("%")[0]
    every = (first, *(other if "%" in other else f"{lemma}%{other}" for other in others))
    for key in every:
        lemma_of(key, where)
    return every
