"""
How many of the nearest tokens have the same sense, and the same part of speech: table 4 of the paper in numbers.

For each ambiguous word of a text the 10 nearest are sought among all words with senses of another text, in each layer.
Static vectors do not tell the tokens of a word apart: there the nearest come in any order, and the share is the mean
over all of these orders.

Among words of any lemma it is the lemma that decides. `LemmaShares` therefore looks for the nearest among the words of
the same lemma alone, of any part of speech, and says what any of them would give.
"""

from typing import Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from elmo_plugin.neighbors.nearest import NONE, NearestSearch
from elmo_plugin.probes.senses import Lemma, SenseText, SenseWord
from elmo_plugin.probes.word_vectors import WordVectors

K = 10
#: in the sums: neighbours of the same sense, of the same part of speech, and all
COLUMNS = 3

Form = Tuple[str, ...]


def is_ambiguous(word: SenseWord, counts: Mapping[Lemma, Mapping[str, int]]) -> bool:
    """Whether the training text has several senses of the lemma."""
    return len(counts.get(word.lemma, ())) > 1


class _FormCounts(NamedTuple):
    senses: Dict[Tuple[str, ...], int]
    tags: Dict[str, int]


class NearestShares:
    """
    Collects the neighbours of some words among others that come window by window.

    # Parameters

    words : that are asked about.
    vectors : of them, `(words, layers, dim)`; layer 0 is the static one.
    """

    def __init__(self, words: Sequence[SenseWord], vectors: np.ndarray) -> None:
        self._words = words
        self._vectors = vectors
        self._searches = [NearestSearch(vectors[:, layer], K) for layer in range(1, vectors.shape[1])]
        self._met: List[SenseWord] = []
        self._forms: Dict[Form, int] = {}
        self._counts: List[_FormCounts] = []
        self._form_vectors: List[np.ndarray] = []

    def add(self, found: WordVectors, text: SenseText) -> None:
        """Look at words of the other text."""
        numbers = np.arange(len(self._met), len(self._met) + len(found.words), dtype=np.int64)
        for layer, search in enumerate(self._searches, start=1):
            search.add(found.vectors[:, layer], numbers)
        self._met.extend(found.words)
        for word, vectors in zip(found.words, found.vectors):
            form = tuple(text.sentences[word.sentence][word.start : word.stop])
            place = self._forms.setdefault(form, len(self._forms))
            if place == len(self._counts):
                self._counts.append(_FormCounts({}, {}))
                self._form_vectors.append(vectors[0])
            senses, tags = self._counts[place]
            senses[word.senses] = senses.get(word.senses, 0) + 1
            tags[word.lemma[1]] = tags.get(word.lemma[1], 0) + 1

    def sums(self) -> np.ndarray:
        """What each word has among its neighbours, `(layers, words, COLUMNS)`."""
        result = np.zeros((len(self._searches) + 1, len(self._words), COLUMNS))
        result[0] = self._static()
        for layer, search in enumerate(self._searches, start=1):
            for row, numbers in enumerate(search.result().numbers):
                near = [self._met[number] for number in numbers if number != NONE]
                result[layer, row] = _alike(self._words[row], near)
        return result

    def any_order(self) -> np.ndarray:
        """What each word has among as many others that are drawn without looking at them, `(words, COLUMNS)`."""
        taken = min(K, len(self._met))
        rows = [np.array(_alike(word, self._met)) * (taken / max(1, len(self._met))) for word in self._words]
        return np.array(rows, dtype=float).reshape(-1, COLUMNS)

    def _static(self) -> np.ndarray:
        search = NearestSearch(self._vectors[:, 0], K)
        search.add(np.array(self._form_vectors), np.arange(len(self._form_vectors)))
        rows = np.zeros((len(self._words), COLUMNS))
        for row, (word, places) in enumerate(zip(self._words, search.result().numbers)):
            left = K
            for place in places[places != NONE]:
                senses, tags = self._counts[place]
                total = sum(tags.values())
                taken = min(left, total)
                same = sum(count for keys, count in senses.items() if not set(keys).isdisjoint(word.senses))
                rows[row] += taken * np.array([same / total, tags.get(word.lemma[1], 0) / total, 1.0])
                left -= taken
                if not left:
                    break
        return rows


class LemmaShares:
    """
    As `NearestShares`, among the words of the same lemma.

    # Parameters

    words : that are asked about.
    vectors : of them, `(words, layers, dim)`; layer 0 is the static one.
    """

    def __init__(self, words: Sequence[SenseWord], vectors: np.ndarray) -> None:
        self._shape = (vectors.shape[1] + 1, len(words), COLUMNS)
        places: Dict[str, List[int]] = {}
        for place, word in enumerate(words):
            places.setdefault(word.lemma[0], []).append(place)
        self._places = places
        self._nearest = {
            lemma: NearestShares([words[place] for place in of_lemma], vectors[of_lemma])
            for lemma, of_lemma in places.items()
        }

    def add(self, found: WordVectors, text: SenseText) -> None:
        """Look at words of the other text."""
        rows: Dict[str, List[int]] = {}
        for row, word in enumerate(found.words):
            if word.lemma[0] in self._nearest:
                rows.setdefault(word.lemma[0], []).append(row)
        for lemma, of_lemma in rows.items():
            same = WordVectors([found.words[row] for row in of_lemma], found.vectors[of_lemma])
            self._nearest[lemma].add(same, text)

    def sums(self) -> np.ndarray:
        """What each word has among its neighbours, `(layers + 1, words, COLUMNS)`; last, among any of the lemma."""
        result = np.zeros(self._shape)
        for lemma, of_lemma in self._places.items():
            nearest = self._nearest[lemma]
            result[:-1, of_lemma] = nearest.sums()
            result[-1, of_lemma] = nearest.any_order()
        return result


def _alike(word: SenseWord, near: Iterable[SenseWord]) -> Tuple[int, int, int]:
    found = [(not set(other.senses).isdisjoint(word.senses), other.lemma[1] == word.lemma[1]) for other in near]
    return sum(sense for sense, _ in found), sum(tag for _, tag in found), len(found)
