"""Texts whose words have senses of WordNet."""

import glob
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Tuple

from elmo_plugin.engine.errors import FormatError

#: a lemma and its part of speech: "n", "v", "a" or "r"
Lemma = Tuple[str, str]

#: what the digit behind the lemma of a sense key says
_PARTS_OF_SPEECH = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
# biLMs read raw characters and have never met the escapes of the Penn Treebank.
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"', "`": "'"}


class SenseWord(NamedTuple):
    """
    A word with its senses; several tokens for a multiword unit.

    # Parameters

    name : which one it is, for files of answers.
    sentence : number of the sentence.
    start, stop : tokens of the sentence.
    lemma : with its part of speech.
    senses : sense keys; one of them is as good as another.
    """

    name: str
    sentence: int
    start: int
    stop: int
    lemma: Lemma
    senses: Tuple[str, ...]


class SenseText(NamedTuple):
    """
    Sentences, and the words in them that have senses, in their order.

    # Parameters

    sentences : lists of tokens.
    words : those with senses.
    """

    sentences: List[List[str]]
    words: List[SenseWord]


def tokens_of(unit: str) -> List[str]:
    """Return the tokens of a unit of the text, which SemCor joins by underscores and Raganato et al. by spaces."""
    parts = unit.replace("_", " ").split()
    return [_ESCAPES.get(part, part) for part in parts] or [unit]


def lemma_of(sense: str, where: str) -> Lemma:
    """
    Return the lemma and the part of speech of a sense key: `play%1:04:00::`.

    # Raises

    `FormatError` where it is none.
    """
    lemma, _, rest = sense.partition("%")
    if not lemma or rest[:1] not in _PARTS_OF_SPEECH or rest.count(":") != 4:
        raise FormatError(f"{where}: {sense!r} is no sense key of WordNet, expected one such as 'play%1:04:00::'.")
    return lemma.lower(), _PARTS_OF_SPEECH[rest[0]]


def joined(texts: Iterable[SenseText]) -> SenseText:
    """Put texts one behind the other."""
    sentences: List[List[str]] = []
    words: List[SenseWord] = []
    for text in texts:
        words.extend(word._replace(sentence=word.sentence + len(sentences)) for word in text.words)
        sentences.extend(text.sentences)
    return SenseText(sentences, words)


def sense_counts(words: Iterable[SenseWord]) -> Dict[Lemma, Dict[str, int]]:
    """
    Count the senses of each lemma.

    # Returns

    For each lemma its senses, the most frequent first; among equals that which comes first in the text.
    """
    counts: Dict[Lemma, Dict[str, int]] = {}
    for word in words:
        of_lemma = counts.setdefault(word.lemma, {})
        for sense in word.senses:
            of_lemma[sense] = of_lemma.get(sense, 0) + 1
    return {lemma: dict(sorted(of_lemma.items(), key=lambda item: -item[1])) for lemma, of_lemma in counts.items()}


def read_sense_texts(patterns: Iterable[str]) -> SenseText:
    """
    Read files, told apart by their names: `.xml` for Raganato et al., else the lines of JSON of `semcor`.

    # Raises

    `FileNotFoundError` where a pattern matches nothing; `FormatError` where a file is not what it should be.
    """
    from elmo_plugin.probes.raganato import read_raganato
    from elmo_plugin.probes.semcor import read_semcor

    texts = []
    for pattern in patterns:
        # A name may hold what means something in a pattern: "text[1].data.xml".
        paths = [pattern] if Path(pattern).is_file() else sorted(glob.glob(pattern))
        if not paths:
            raise FileNotFoundError(f"{pattern}: no such file, expected text with word senses.")
        texts += [read_raganato(Path(path)) if path.endswith(".xml") else read_semcor(Path(path)) for path in paths]
    return joined(texts)
