"""
The text that is measured: English-like sentences that are made on the spot, or a file.

What matters for speed is how long sentences are, how often words come again in a batch, and how long words are. Lengths
are log-normal with a mean of 20 words. Words follow Zipf's law in Mandelbrot's form, fitted to English: of the words of
8, 32 and 64 sentences 64, 47 and 40 in a hundred are distinct.
"""

import math
from pathlib import Path
from typing import Dict, List, Sequence, Union

import numpy as np

Sentence = List[str]

_MEAN_LENGTH = 20.0
_LENGTH_SIGMA = 0.6
_LONGEST = 150

_VOCABULARY = 100_000
_EXPONENT = 1.25
_SHIFT = 2.7

#: the most frequent words, in the order of their ranks; the others are made up
_FREQUENT = (
    "the , . of and to in a is that for it was on as with he his by at from had be are not this which but they have "
    'an she or you her were we their been has will its there one who all would if more when so no said out up " what '
    "about them time than only some into could him two other then do new first any my now these people over made"
).split()

_ONSETS = "b c d f g h l m n p r s t v w st tr pr ch sh th br gr pl cl".split()
_VOWELS = "a a e e i i o o u ea ou".split()
_CODAS = "n r s t l d m ng ck st nt ed er es".split()
_ACCENTED = ("é", "ü", "ñ", "ø")


class TextError(ValueError):
    """A file of sentences cannot be used."""


def make_sentences(count: int, seed: int) -> List[Sentence]:
    """
    Make English-like sentences.

    # Parameters

    count : number of sentences.
    seed : of lengths, words and spellings.
    """
    random = np.random.RandomState(seed)
    location = math.log(_MEAN_LENGTH) - _LENGTH_SIGMA**2 / 2
    lengths = np.clip(np.rint(random.lognormal(location, _LENGTH_SIGMA, count)), 1, _LONGEST).astype(int)
    weights = (np.arange(1, _VOCABULARY + 1) + _SHIFT) ** -_EXPONENT
    ranks = random.choice(_VOCABULARY, size=int(lengths.sum()), p=weights / weights.sum())
    spelled = _spell(sorted(set(ranks.tolist())), seed)
    words = iter([spelled[rank] for rank in ranks.tolist()])
    return [[next(words) for _ in range(length)] for length in lengths]


def _spell(ranks: Sequence[int], seed: int) -> Dict[int, str]:
    """Give each rank a word of its own; rare words are longer."""
    random = np.random.RandomState(seed + 1)
    spelled: Dict[int, str] = {}
    taken = set(_FREQUENT)
    for rank in ranks:
        word = _FREQUENT[rank] if rank < len(_FREQUENT) else ""
        while not word or (rank >= len(_FREQUENT) and word in taken):
            word = _make_word(rank, random)
        taken.add(word)
        spelled[rank] = word
    return spelled


def _make_word(rank: int, random: np.random.RandomState) -> str:
    kind = random.random_sample()
    if kind < 0.03:
        return str(random.randint(1, 1_000_000))
    syllables = 1 + random.binomial(3, min(0.9, 0.17 * math.log10(rank + 1)))
    word = "".join(_pick(_ONSETS, random) + _pick(_VOWELS, random) for _ in range(syllables)) + _pick(_CODAS, random)
    if kind < 0.04:
        word += _pick(_ACCENTED, random)
    return word.capitalize() if kind > 0.85 else word


def _pick(parts: Sequence[str], random: np.random.RandomState) -> str:
    return parts[random.randint(len(parts))]


def read_sentences(path: Union[str, Path], count: int) -> List[Sentence]:
    """
    Read the first sentences of a file.

    # Parameters

    path : one tokenised sentence a line, words separated by spaces.
    count : number of sentences; a shorter file is gone through again from its beginning.

    # Raises

    `TextError` where the file cannot be read or holds no sentence.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")  # not at U+2028 and the like, as in other texts
    except (OSError, UnicodeDecodeError) as error:
        raise TextError(f"{path}: {error}; expected a text in UTF-8, one tokenised sentence a line.") from error
    sentences = [line.split() for line in lines if line.strip()]
    if not sentences:
        raise TextError(f"{path}: no sentence in it; expected one tokenised sentence a line.")
    return [sentences[index % len(sentences)] for index in range(count)]


def natural_batches(sentences: Sequence[Sentence], size: int, count: int) -> List[List[Sentence]]:
    """Cut the first `count` batches of `size` sentences, in the order of the text."""
    return [list(sentences[start : start + size]) for start in range(0, size * count, size)]


def sorted_batches(sentences: Sequence[Sentence], size: int, count: int) -> List[List[Sentence]]:
    """Sort all sentences by length and take `count` batches of `size`, from short to long, evenly spread."""
    by_length = sorted(sentences, key=len)
    groups = len(by_length) // size
    chosen = [int((index + 0.5) * groups / count) for index in range(count)]
    return [by_length[group * size : (group + 1) * size] for group in chosen]


def distinct_ratio(sentences: Sequence[Sentence]) -> float:
    """How many of the words are distinct, from 0 to 1."""
    words = [word for sentence in sentences for word in sentence]
    return len(set(words)) / len(words)
