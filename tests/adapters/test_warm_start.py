"""The warm state inside an AllenNLP model."""

import pytest
import torch

pytest.importorskip("allennlp")

from elmo_plugin.adapters.warm_start import prepare_warm_state
from elmo_plugin.engine import BiLm
from elmo_plugin.engine.warm import warm_up
from elmo_plugin.formats import read_weights
from tests import tiny


def bilm_of(folder, state):
    weights = read_weights(folder)
    bilm = BiLm(weights.options, state=state)
    bilm.load_tensors(weights.tensors, "test")
    return bilm, weights.vocabulary


def test_characters_are_warmed_up_as_the_engine_does(tmp_path):
    tiny.write(tmp_path / "bilm")
    ours, _ = bilm_of(tmp_path / "bilm", "warm")
    expected, _ = bilm_of(tmp_path / "bilm", "warm")
    warm_up(expected)

    prepare_warm_state(ours)

    assert torch.equal(ours.warm.hidden, expected.warm.hidden)


def test_words_are_warmed_up_through_their_vocabulary(tmp_path):
    tiny.write_word_level(tmp_path / "bilm", ["the", "and", "."])
    bilm, vocabulary = bilm_of(tmp_path / "bilm", "warm")

    prepare_warm_state(bilm, vocabulary)
    hidden = bilm.warm.hidden.clone()
    prepare_warm_state(bilm, vocabulary[:-1] + ["of"])

    assert bilm.warm.is_set
    assert not torch.equal(bilm.warm.hidden, hidden)  # the text went through the vocabulary


def test_other_states_are_left_alone(tmp_path):
    tiny.write(tmp_path / "bilm")
    bilm, _ = bilm_of(tmp_path / "bilm", "carried")

    prepare_warm_state(bilm)

    assert bilm.warm is None and bilm.carried is None
