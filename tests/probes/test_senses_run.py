"""The whole of tables 4 and 5 on a tiny biLM, against the same written down word by word."""

import numpy as np
import pytest

pytest.importorskip("faiss")
pytest.importorskip("h5py")

from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.probes import shares, word_vectors
from elmo_plugin.probes.sense_vectors import SenseVectors
from elmo_plugin.probes.senses import SenseText, SenseWord, read_sense_texts, sense_counts
from elmo_plugin.probes.senses_run import SenseTask, run_senses
from elmo_plugin.probes.shares import LemmaShares, NearestShares, is_ambiguous
from elmo_plugin.probes.word_vectors import WordVectors
from tests.embedding.runs import make_embedder
from tests.probes.texts import ACT, SPORT, TEST, TRAIN, write_semcor


@pytest.fixture
def embedder(tmp_path):
    return make_embedder(tmp_path / "biLM", kind=SentenceEmbedder)


@pytest.fixture
def task(tmp_path):
    write_semcor(tmp_path / "train.jsonl.gz", TRAIN * 3)
    write_semcor(tmp_path / "test.jsonl.gz", TEST)
    train, test = (read_sense_texts([str(tmp_path / f"{name}.jsonl.gz")]) for name in ("train", "test"))
    return SenseTask(train, {"one": test, "other": test})


def vectors_of(text, embedder):
    """`(words, layers, dim)`, a sentence at a time."""
    layers = [embedder.embed([sentence]) for sentence in text.sentences]
    return np.stack([layers[word.sentence][word.start : word.stop].mean(axis=0) for word in text.words])


def cosine(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_vectors_in_windows(task, embedder, monkeypatch):
    monkeypatch.setattr(word_vectors, "_TOKENS", 12)
    said = []
    windows = list(word_vectors.word_vectors(task.train, embedder, said.append))

    assert len(windows) > 3 and said[-1] == 1.0
    assert [word for window in windows for word in window.words] == task.train.words
    found = np.concatenate([window.vectors for window in windows])
    np.testing.assert_allclose(found, vectors_of(task.train, embedder), atol=1e-5)


def test_answers_and_scores(task, embedder):
    said = []
    result = run_senses(task, embedder, said.append)

    train, test = task.train, task.tests["one"]
    known, asked = vectors_of(train, embedder), vectors_of(test, embedder)
    for layer in range(3):
        right = 0
        for word, vector in zip(test.words, asked[:, layer]):
            near = {}
            for other, one in zip(train.words, known[:, layer]):
                for sense in other.senses if other.lemma == word.lemma else ():
                    near.setdefault(sense, []).append(one)
            answer = max(near, key=lambda sense: cosine(np.mean(near[sense], axis=0), vector)) if near else None
            right += answer in word.senses
        precision, recall = right / 4, right / 5  # chess is not in the training text
        assert result["layers"][layer].value == pytest.approx(100 * 2 * precision * recall / (precision + recall))
        assert result["sets"]["one"][layer + 1] == pytest.approx(result["layers"][layer].value)
    # art, a good play and the play on the field are right by the counts
    assert result["first"].value == pytest.approx(100 * 2 * 3 / (4 + 5))
    assert (result["unseen_words"], result["unanswered_words"], result["test_words"]) == (2, 2, 10)
    assert result["second_over_first"].value == pytest.approx(result["layers"][2].value - result["layers"][1].value)
    assert said[0] == "test text" and said[-1].startswith("training text, ")


def test_wordnet_answers_for_lemmas_that_are_new(task, embedder):
    result = run_senses(task._replace(wordnet={("chess", "n"): "chess%1:04:00::"}), embedder, print)

    assert result["unanswered_words"] == 0 and result["first_sense"] == "WordNet"
    assert result["first"].value == pytest.approx(100 * 2 * 1 / (1 + 5)), "nothing else is in this WordNet"


def test_shares_within_the_lemma_are_of_frequent_lemmas(task, embedder):
    result = run_senses(task, embedder, print)

    # 3 times 4 words of "play" are enough for 10 neighbours, 6 of "art" and "game" together are not
    assert result["frequent_words"] == result["ambiguous_words"] == 6
    assert len(result["of_lemma"]["same_sense"]) == len(result["layers"]) + 1
    verbs, senses = (result["of_lemma"][name][-1].value for name in ("same_tag", "same_sense"))
    # of the lemma's training words 6 of 15 are verbs, 9 of 15 nouns, and one word in three of the test text is a verb
    assert verbs == pytest.approx(100 * (0.4 + 2 * 0.6) / 3)
    assert senses == pytest.approx(100 * (0.4 + 0.4 + 0.2) / 3)

    rare = task._replace(train=read_only_once(task.train))
    result = run_senses(rare, embedder, print)
    assert (result["frequent_words"], result["of_lemma"]["same_sense"][0].value) == (0, 0.0)


def read_only_once(text):
    """The first of three copies of a text."""
    third = len(text.sentences) // 3
    return SenseText(text.sentences[:third], [word for word in text.words if word.sentence < third])


def test_texts_without_senses_are_refused(task, embedder):
    empty = SenseText([["a"]], [])
    with pytest.raises(FormatError, match="the training text has no words with senses"):
        run_senses(task._replace(train=empty), embedder, print)
    with pytest.raises(FormatError, match="the test text has no words with senses"):
        run_senses(task._replace(tests={"empty": empty}), embedder, print)


def test_tasks_are_told_apart(task):
    assert task.digest() == task._replace().digest()
    assert task.digest() != task._replace(wordnet={}).digest() or task.wordnet is None
    assert task.digest() != task._replace(wordnet={("a", "n"): "a%1:04:00::"}).digest()


def test_of_equal_averages_the_most_frequent_sense_is_taken():
    word = SenseWord("w", 0, 0, 1, ("play", "v"), (ACT,))
    other = word._replace(senses=("play%2:36:00::",))
    counts = sense_counts([other, word, word])
    senses = SenseVectors(counts)
    senses.add(WordVectors([other, word, word], np.ones((3, 2, 4), dtype=np.float32)))

    assert senses.answers(WordVectors([word], np.ones((1, 2, 4), dtype=np.float32)), {}) == [[ACT], [ACT]]


def test_rounding_decides_nothing_between_equal_averages():
    random = np.random.RandomState(0)
    word = SenseWord("w", 0, 0, 1, ("play", "v"), (ACT,))
    other = word._replace(senses=("play%2:36:00::",))
    known = [other] * 7 + [word] * 13
    for _ in range(20):
        vector = random.standard_normal(64).astype("float32")
        senses = SenseVectors(sense_counts(known))
        senses.add(WordVectors(known, np.tile(vector, (20, 1, 1))))

        assert senses.answers(WordVectors([word], vector[None, None]), {}) == [[ACT]]


@given(seed=st.integers(0, 10**6), train=st.integers(1, 40))
@settings(deadline=None, max_examples=20)
def test_shares_equal_brute_force(seed, train):
    random = np.random.RandomState(seed)
    forms = ["a", "b", "c", "d"]
    senses = ["x%1:04:00::", "x%1:05:00::", "x%2:33:00::", "y%1:04:00::"]
    static = random.standard_normal((4, 6)).astype("float32")

    def words(count):
        text = [[forms[place]] for place in random.randint(0, 4, count)]
        keys = [senses[place] for place in random.randint(0, 4, count)]
        found = [
            SenseWord(str(n), n, 0, 1, (key[0], {"1": "n", "2": "v"}[key[2]]), (key,)) for n, key in enumerate(keys)
        ]
        contextual = random.standard_normal((count, 2, 6)).astype("float32")
        by_form = np.stack([static[forms.index(sentence[0])] for sentence in text])
        return SenseText(text, found), np.concatenate([by_form[:, None], contextual], axis=1)

    (known, known_vectors), (asked, asked_vectors) = words(train), words(5)
    nearest = NearestShares(asked.words, asked_vectors)
    half = train // 2
    nearest.add(WordVectors(known.words[:half], known_vectors[:half]), known)
    nearest.add(WordVectors(known.words[half:], known_vectors[half:]), known)
    sums = nearest.sums()

    of_lemma = LemmaShares(asked.words, asked_vectors)
    of_lemma.add(WordVectors(known.words[:half], known_vectors[:half]), known)
    of_lemma.add(WordVectors(known.words[half:], known_vectors[half:]), known)
    of_lemma = of_lemma.sums()
    for row, word in enumerate(asked.words):
        same = [place for place, other in enumerate(known.words) if other.lemma[0] == word.lemma[0]]
        alone = NearestShares([word], asked_vectors[row : row + 1])
        if same:
            alone.add(WordVectors([known.words[place] for place in same], known_vectors[same]), known)
        np.testing.assert_allclose(of_lemma[:-1, row], alone.sums()[:, 0], atol=1e-9)
        rights = [known.words[place].senses == word.senses for place in same]
        tags = [known.words[place].lemma[1] == word.lemma[1] for place in same]
        expected = min(shares.K, len(same)) * np.array([np.mean(rights), np.mean(tags), 1]) if same else np.zeros(3)
        np.testing.assert_allclose(of_lemma[-1, row], expected, atol=1e-9)

    k = min(shares.K, train)
    for row, word in enumerate(asked.words):
        assert sums[:, row, 2] == pytest.approx(k)
        for layer in range(3):
            similarity = np.array([cosine(one, asked_vectors[row, layer]) for one in known_vectors[:, layer]])
            expected = np.zeros(2)
            # Any order of what is equally near: the mean over many of them.
            draws = 1 if layer else 100
            for _ in range(draws):
                order = np.lexsort((random.permutation(train), -similarity.round(5)))[:k]
                near = [known.words[place] for place in order]
                expected += [
                    sum(one.senses == word.senses for one in near),
                    sum(one.lemma[1] == word.lemma[1] for one in near),
                ]
            expected /= draws
            np.testing.assert_allclose(sums[layer, row, :2], expected, atol=1e-9 if layer else 0.9)


def test_ambiguous_words():
    one = SenseWord("w", 0, 0, 1, ("play", "n"), (SPORT,))
    counts = sense_counts([one, one._replace(senses=("play%1:10:01::",)), one._replace(lemma=("art", "n"))])

    assert [is_ambiguous(one._replace(lemma=(lemma, "n")), counts) for lemma in ("play", "art", "new")] == [
        True,
        False,
        False,
    ]
