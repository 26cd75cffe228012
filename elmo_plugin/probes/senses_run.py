"""Tables 4 and 5 for one biLM: both texts are embedded once, in windows, and only the words asked about are kept."""

import hashlib
from collections import Counter
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.probes.first_sense import by_counts
from elmo_plugin.probes.scoring import accuracy, by_sentence, difference, f1, interval, sense_sums
from elmo_plugin.probes.sense_vectors import SenseVectors
from elmo_plugin.probes.senses import Lemma, SenseText, SenseWord, joined, sense_counts
from elmo_plugin.probes.shares import K, LemmaShares, NearestShares, is_ambiguous
from elmo_plugin.probes.word_vectors import WordVectors, word_vectors

#: of the numbers below: results of another version are computed again
_VERSION = 2


class SenseTask(NamedTuple):
    """
    What senses are learned from and tested on.

    # Parameters

    train : the training text.
    tests : the test texts by their names; what they score together is the score.
    wordnet : the first sense of each lemma by WordNet; None to take the most frequent of the training text.
    """

    train: SenseText
    tests: Mapping[str, SenseText]
    wordnet: Optional[Mapping[Lemma, str]] = None

    def digest(self) -> str:
        """What tells this task from others."""
        content = repr((_VERSION, self.train, sorted(self.tests.items()), sorted((self.wordnet or {}).items())))
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def run_senses(task: SenseTask, embedder: SentenceEmbedder, say: Callable[[str], None]) -> Dict[str, Any]:
    """
    Disambiguate the test words by each layer, and look at the neighbours of the ambiguous ones.

    # Parameters

    embedder : of all layers.
    say : called with how far it is.

    # Returns

    Scores in percent, each as value, low and high; counts; by-set scores of the layers.

    # Raises

    `FormatError` where one of the texts has no words with senses.
    """
    test = joined(task.tests.values())
    for name, text in (("training", task.train), ("test", test)):
        if not text.words:
            raise FormatError(f"the {name} text has no words with senses. Check which files were named.")
    counts = sense_counts(task.train.words)
    first = by_counts(counts) if task.wordnet is None else dict(task.wordnet)
    say("test text")
    found = _together(list(word_vectors(test, embedder)))
    ambiguous = [place for place, word in enumerate(test.words) if is_ambiguous(word, counts)]
    nearest = NearestShares([test.words[place] for place in ambiguous], found.vectors[ambiguous])
    frequent = _frequent(task.train.words, test.words, ambiguous)
    of_lemma = LemmaShares([test.words[place] for place in frequent], found.vectors[frequent])
    senses = SenseVectors(counts)
    for window in word_vectors(task.train, embedder, _tenths(say)):
        senses.add(window)
        nearest.add(window, task.train)
        of_lemma.add(window, task.train)
    answers = senses.answers(found, first)
    by_first = [first.get(word.lemma) for word in test.words]
    return {
        **_scores(test.words, answers, by_first),
        **_shares([test.words[place].sentence for place in ambiguous], nearest.sums()),
        "of_lemma": _shares([test.words[place].sentence for place in frequent], of_lemma.sums()),
        "sets": _sets(task.tests, answers, by_first),
        "train_words": len(task.train.words),
        "test_words": len(test.words),
        "ambiguous_words": len(ambiguous),
        "frequent_words": len(frequent),
        "unseen_words": sum(word.lemma not in counts for word in test.words),
        "unanswered_words": sum(answer is None for answer in answers[0]),
        "first_sense": "training counts" if task.wordnet is None else "WordNet",
    }


def _frequent(train: Sequence[SenseWord], words: Sequence[SenseWord], places: Sequence[int]) -> List[int]:
    """Those words whose lemma has more words in the training text than neighbours are looked for."""
    counts = Counter(word.lemma[0] for word in train)
    return [place for place in places if counts[words[place].lemma[0]] > K]


def _tenths(say: Callable[[str], None]) -> Callable[[float], None]:
    """Say how much of the training text is done, about ten times."""
    said = -1

    def report(share: float) -> None:
        nonlocal said
        if int(10 * share) > said:
            said = int(10 * share)
            say(f"training text, {100 * share:.0f} %")

    return report


def _together(windows: Sequence[WordVectors]) -> WordVectors:
    words = [word for window in windows for word in window.words]
    return WordVectors(words, np.concatenate([window.vectors for window in windows]))


def _scores(
    words: Sequence[SenseWord], answers: Sequence[Sequence[Optional[str]]], by_first: Sequence[Optional[str]]
) -> Dict[str, Any]:
    sentences, gold = [word.sentence for word in words], [word.senses for word in words]
    sums = [sense_sums(sentences, gold, one) for one in answers]
    result: Dict[str, Any] = {
        "first": interval(sense_sums(sentences, gold, by_first), f1),
        "layers": [interval(one, f1) for one in sums],
    }
    if len(sums) > 2:
        result["second_over_first"] = difference(sums[1], sums[2], f1)
    return result


def _shares(sentences: Sequence[int], sums: np.ndarray) -> Dict[str, Any]:
    """Of each row, by sentence, as the scores are, since words of one sentence are no independent sample."""
    nothing = np.zeros((1, 2))
    return {
        name: [
            interval(by_sentence(sentences, layer[:, [column, 2]]) if sentences else nothing, accuracy)
            for layer in sums
        ]
        for column, name in enumerate(("same_sense", "same_tag"))
    }


def _sets(
    tests: Mapping[str, SenseText], answers: Sequence[Sequence[Optional[str]]], by_first: Sequence[Optional[str]]
) -> Dict[str, List[float]]:
    """F1 of each test text: of the first sense, and of each layer."""
    result: Dict[str, List[float]] = {}
    start = 0
    for name, text in tests.items():
        stop = start + len(text.words)
        sentences, gold = [word.sentence for word in text.words], [word.senses for word in text.words]
        every = [sense_sums(sentences, gold, one[start:stop]) for one in (by_first, *answers)]
        result[name] = [100 * float(f1(sums.sum(axis=0))) for sums in every]
        start = stop
    return result
