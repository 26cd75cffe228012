"""Vectors for several people at once are those for one."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.embedding.embedder import SentenceEmbedder, build_bilm
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.explorer.embedder import SharedEmbedder
from elmo_plugin.formats import read_pair
from tests import tiny

WORDS = ["a", "the", "Naïve", "日本語", "x" * 70, "<S>"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=5), max_size=6)


@pytest.fixture(scope="module")
def bilm(tmp_path_factory):
    weights = read_pair(*tiny.write(tmp_path_factory.mktemp("bilm")))
    return build_bilm(weights, state="reset")


@settings(deadline=None, max_examples=30)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.sampled_from([0, 1500, 1 << 20]))
def test_remembered_vectors_are_those_of_the_bilm(bilm, texts, max_bytes):
    plain, shared = SentenceEmbedder(bilm), SharedEmbedder(bilm, max_bytes=max_bytes)
    for sentences in texts:
        expected = plain.embed(sentences)
        actual = shared.embed(sentences)

        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, atol=1e-6)
        assert sum(vectors.nbytes for vectors in shared._known.values()) == shared._bytes <= max_bytes


def test_a_sentence_is_computed_once(bilm, monkeypatch):
    shared = SharedEmbedder(bilm)
    shared.embed([["a", "the"], ["the"]])
    monkeypatch.setattr(SentenceEmbedder, "embed", lambda *_: pytest.fail("was computed again"))

    assert shared.embed([["the"], ["a", "the"], ["the"]]).shape[0] == 4


def test_long_questions_leave_turns_to_others(bilm, monkeypatch):
    turns = []
    monkeypatch.setattr("elmo_plugin.explorer.embedder._TOKENS_IN_A_TURN", 3)
    embed = SentenceEmbedder.embed

    def counting(self, sentences, first=0):
        assert self.turn.locked()
        turns.append(sum(map(len, sentences)))
        return embed(self, sentences, first)

    monkeypatch.setattr(SentenceEmbedder, "embed", counting)
    SharedEmbedder(bilm).embed([["a"], ["the", "a"], ["a", "a"], ["the"] * 5])

    assert turns == [3, 2, 5]


def test_threads_get_their_own_answers(bilm):
    shared = SharedEmbedder(bilm, max_bytes=4000)
    texts = [[[word] * length for length in (1, 2, 3)] for word in WORDS]
    expected = [SentenceEmbedder(bilm).embed(text) for text in texts]
    wrong = []

    def ask(place):
        for _ in range(5):
            if not np.allclose(shared.embed(texts[place]), expected[place], atol=1e-6):
                wrong.append(place)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_carried_state_is_refused(tmp_path):
    weights = read_pair(*tiny.write(tmp_path))

    with pytest.raises(OptionsError, match="state is 'carried'"):
        SharedEmbedder(build_bilm(weights, state="carried"))
