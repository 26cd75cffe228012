"""The occurrences of a word: in a text with senses, in an index, and on the page."""

from typing import Callable, Dict, List, NamedTuple, Sequence, Set, Tuple

import numpy as np

from elmo_plugin.probes.senses import SenseText, SenseWord


class Occurrence(NamedTuple):
    """
    A word in its sentence; several tokens for a multiword unit.

    # Parameters

    tokens : of the sentence.
    start, stop : the word's.
    source : where it is from, for people.
    sense : its sense key; empty where none is known.
    number : of its sentence on the page, from 1; 0 where it is not on the page.
    """

    tokens: Sequence[str]
    start: int
    stop: int
    source: str
    sense: str = ""
    number: int = 0

    @property
    def on_page(self) -> bool:
        """Whether it is in a sentence of the page."""
        return self.number > 0


class SenseOccurrences:
    """
    The words of a text that have senses, by their forms and lemmas.

    # Parameters

    text : with senses.
    """

    def __init__(self, text: SenseText) -> None:
        self._text = text
        self._by_lemma: Dict[str, List[SenseWord]] = {}
        self._lemmas: Dict[str, Set[str]] = {}
        for word in text.words:
            lemma = word.lemma[0]
            self._by_lemma.setdefault(lemma, []).append(word)
            form = " ".join(text.sentences[word.sentence][word.start : word.stop]).lower()
            for name in (form, lemma.replace("_", " ")):
                self._lemmas.setdefault(name, set()).add(lemma)

    def lemmas(self, form: str) -> Set[str]:
        """The lemmas that a form has in the text, without their parts of speech; a form nobody knows has none."""
        return self._lemmas.get(form.lower(), set())

    def find(self, form: str, limit: int, seed: int = 0) -> Tuple[List[Occurrence], int]:
        """
        Find the occurrences of all lemmas of a form.

        # Parameters

        form : as it is spelled, in any case.
        limit : how many, at most; of more so many are drawn.
        seed : of the drawing.

        # Returns

        Occurrences in the order of the text, with the first of their senses, and how many there are in the text.
        """
        words = [word for lemma in sorted(self.lemmas(form)) for word in self._by_lemma[lemma]]
        total = len(words)
        if total > limit:
            drawn = np.random.default_rng(seed).choice(total, limit, replace=False)
            words = [words[place] for place in sorted(drawn.tolist())]
        return [
            Occurrence(self._text.sentences[word.sentence], word.start, word.stop, word.name, word.senses[0])
            for word in words
        ], total


def on_page(sentences: Sequence[Sequence[str]], form: str, lemmas_of: Callable[[str], Set[str]]) -> List[Occurrence]:
    """
    Find the tokens of the page with the same form, in any case, or with a lemma in common.

    # Parameters

    sentences : of the page.
    form : as it is spelled.
    lemmas_of : the lemmas of a form.
    """
    lemmas = lemmas_of(form)
    return [
        Occurrence(sentence, place, place + 1, f"sentence {number}", number=number)
        for number, sentence in enumerate(sentences, start=1)
        for place, token in enumerate(sentence)
        if token.lower() == form.lower() or not lemmas.isdisjoint(lemmas_of(token))
    ]
