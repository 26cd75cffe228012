"""Dropout of whole columns around an encoder."""

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

INPUTS = torch.ones(3, 5, 40)
MASK = torch.ones(3, 5, dtype=torch.bool)


def build(encoder=None, **dropouts):
    inner = encoder or {"type": "pass_through", "input_dim": 40}
    return Seq2SeqEncoder.from_params(Params({"type": "variational_dropout", "encoder": inner, **dropouts}))


@pytest.mark.parametrize("place", ["input_dropout", "output_dropout"])
def test_a_column_is_dropped_at_every_token_of_a_sentence(place):
    outputs = build(**{place: 0.5}).train()(INPUTS, MASK)

    assert set(outputs.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(outputs, outputs[:, :1].expand_as(outputs))
    assert not torch.equal(outputs[0], outputs[1])


def test_nothing_is_dropped_in_evaluation():
    assert torch.equal(build(input_dropout=0.5, output_dropout=0.5).eval()(INPUTS, MASK), INPUTS)


def test_is_what_it_wraps():
    encoder = build({"type": "lstm", "input_size": 40, "hidden_size": 3, "bidirectional": True})

    assert (encoder.get_input_dim(), encoder.get_output_dim(), encoder.is_bidirectional()) == (40, 6, True)


def test_stacks_in_compose():
    """As in `experiments/tasks/ner.libsonnet`: two layers of different width."""
    layers = [
        {
            "type": "variational_dropout",
            "input_dropout": 0.5,
            "encoder": {**lstm, "type": "lstm", "bidirectional": True},
        }
        for lstm in ({"input_size": 40, "hidden_size": 4}, {"input_size": 8, "hidden_size": 2})
    ]
    encoder = Seq2SeqEncoder.from_params(Params({"type": "compose", "encoders": layers}))

    assert encoder(INPUTS, MASK).shape == (3, 5, 4)


def test_a_stateful_encoder_is_reset_through_it():
    encoder = build({"type": "lstm", "input_size": 40, "hidden_size": 3, "stateful": True})
    first = encoder(INPUTS, MASK)
    assert not torch.equal(encoder(INPUTS, MASK), first)

    encoder.reset_states()
    assert torch.equal(encoder(INPUTS, MASK), first)
