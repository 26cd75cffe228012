import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from elmo_plugin.corpus.perplexity import SentenceScores, score_corpus
from elmo_plugin.corpus.text import Corpus
from elmo_plugin.corpus.word_table import WordTable
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.softmax import LanguageModelSoftmax
from elmo_plugin.formats import read_weights
from tests import tiny

WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "dog", "sat"]
TEXT = [["the", "cat", "sat"], ["the", "dog"], ["sat"], ["a", "cat", "sat", "the", "dog"]]


@pytest.fixture
def model(tmp_path):
    tiny.write(tmp_path / "bilm")
    found = read_weights(tmp_path / "bilm")
    (tmp_path / "text").write_text("".join(" ".join(words) + "\n" for words in TEXT))
    torch.manual_seed(0)
    softmax = LanguageModelSoftmax(len(WORDS), found.options.lstm.projection_dim)

    def score(state, rows):
        bilm = BiLm(found.options, state="warm" if state == "warm" else "reset")
        bilm.load_tensors(found.tensors, "test")
        if bilm.warm is not None:
            bilm.warm.set(torch.full_like(bilm.warm.hidden, 0.1), torch.full_like(bilm.warm.cell, 0.2))
        table = WordTable({word: index for index, word in enumerate(WORDS)})
        return bilm, softmax, score_corpus(bilm, softmax, Corpus(tmp_path / "text"), table, state, rows)

    return score


@pytest.mark.parametrize("state", ["reset", "warm"])
@pytest.mark.parametrize("rows", [1, 3, 10])
def test_equals_the_layers_of_the_bilm(model, state, rows):
    """The top layer of each sentence by itself, forward in front of a word and backward behind it, torch's softmax."""
    bilm, softmax, scores = model(state, rows)
    for number, words in enumerate(TEXT):
        top = bilm(batch_to_ids([words])).layers[-1, 0]  # (words + 2, 2 * projection)
        forward, backward = top.chunk(2, dim=1)
        indices = [WORDS.index(word) if word in WORDS else 2 for word in words]
        for index, (hidden, targets) in enumerate([(forward[:-1], [*indices, 1]), (backward[1:], [0, *indices])]):
            expected = functional.cross_entropy(
                functional.linear(hidden, softmax.weight, softmax.bias), torch.tensor(targets), reduction="sum"
            )
            assert scores.losses[number, index] == pytest.approx(float(expected.detach()), rel=1e-5)

    assert scores.tokens.tolist() == [4, 3, 2, 6]
    assert scores.unknown.tolist() == [0, 0, 0, 1]


def test_carried_state_runs_through_the_text(model):
    _, _, one = model("carried", 1)
    _, _, many = model("carried", 10)
    _, _, reset = model("reset", 2)

    np.testing.assert_allclose(one.losses[0], reset.losses[0], rtol=1e-5)
    assert abs(one.losses[1:] - reset.losses[1:]).max() > 1e-3
    np.testing.assert_allclose(many.losses, one.losses, rtol=1e-5)  # 15 tokens: all in the first row


def test_sentences_count_by_their_tokens():
    scores = SentenceScores(np.array([[1.0, 2.0], [9.0, 6.0]]), np.array([1.0, 3.0]), np.zeros(2))

    assert scores.perplexities() == {
        "forward": pytest.approx(math.exp(10 / 4)),
        "backward": pytest.approx(math.exp(8 / 4)),
        "mean": pytest.approx(math.exp(9 / 4)),
    }


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Texts drawn from one distribution: about 95 of 100 intervals hold its perplexity."""
    random = np.random.default_rng(0)
    held = 0
    for seed in range(100):
        tokens = random.integers(1, 20, 60).astype(float)
        losses = np.stack([tokens * random.normal(3, 1, 60)] * 2, axis=1)
        low, high = SentenceScores(losses, tokens, np.zeros(60)).intervals(200, seed)["mean"]
        held += low <= math.exp(3) <= high

    assert 85 <= held <= 99
