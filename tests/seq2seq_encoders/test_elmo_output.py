"""ELMo around a task's encoder: which columns, which widths, what a model sees."""

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from elmo_plugin.seq2seq_encoders.elmo_output import ElmoOutputEncoder
from tests import tagging, tiny

INPUTS = torch.randn(2, 4, 10, generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[True] * 4, [True, True, False, False]])


def build(**parameters):
    inner = {"type": "lstm", "input_size": 7, "hidden_size": 3, "bidirectional": True}
    encoder = Seq2SeqEncoder.from_params(Params({"type": "elmo_output", "encoder": inner, "elmo_dim": 3, **parameters}))
    assert isinstance(encoder, ElmoOutputEncoder)
    return encoder.eval()


def test_widths():
    encoder = build()

    assert (encoder.get_input_dim(), encoder.get_output_dim()) == (10, 9)


def test_output_is_not_two_directions():
    assert build().is_bidirectional() is False


def test_last_columns_go_around_the_encoder():
    encoder = build()

    outputs = encoder(INPUTS, MASK)

    assert outputs.shape == (2, 4, 9)
    assert torch.equal(outputs[..., :6], encoder._encoder(INPUTS[..., :7], MASK))
    assert torch.equal(outputs[..., 6:], INPUTS[..., 7:] * MASK.unsqueeze(-1))


def test_columns_in_the_middle_may_go_around_the_encoder():
    encoder = build(elmo_start=2)

    outputs = encoder(INPUTS, MASK)

    rest = torch.cat([INPUTS[..., :2], INPUTS[..., 5:]], dim=-1)
    assert torch.equal(outputs[..., :6], encoder._encoder(rest, MASK))
    assert torch.equal(outputs[0, :, 6:], INPUTS[0, :, 2:5])


def test_padding_is_zero():
    assert (build()(INPUTS, MASK)[1, 2:] == 0).all()


def test_without_mask_nothing_is_padding():
    encoder = build()

    assert torch.equal(encoder(INPUTS)[..., 6:], INPUTS[..., 7:])


def test_elmo_columns_may_have_an_encoder_of_their_own():
    inner = {"type": "lstm", "input_size": 3, "hidden_size": 2, "bidirectional": True}
    encoder = build(elmo_encoder=dict(inner))

    outputs = encoder(INPUTS, MASK)

    assert outputs.shape == (2, 4, encoder.get_output_dim()) == (2, 4, 10)
    assert torch.equal(outputs[..., 6:], encoder._elmo_encoder(INPUTS[..., 7:], MASK))
    with pytest.raises(ConfigurationError, match='"elmo_encoder" takes 2 columns, expected 3'):
        build(elmo_encoder={**inner, "input_size": 2})


def test_dropout_is_on_the_elmo_columns_in_training():
    encoder = build(dropout=0.5)
    assert torch.equal(encoder(INPUTS, MASK)[0, :, 6:], INPUTS[0, :, 7:])

    dropped = encoder.train()(INPUTS, MASK)[0, :, 6:]
    assert 0 < (dropped == 0).sum() < dropped.numel()
    assert torch.equal(dropped[dropped != 0], 2 * INPUTS[0, :, 7:][dropped != 0])


def test_inputs_of_another_width_are_refused():
    with pytest.raises(ConfigurationError, match='have 7 columns, expected 10: 7 .* and 3.*"num_mixes": 2'):
        build()(INPUTS[..., :7], MASK)


@pytest.mark.parametrize("parameters", [{"elmo_dim": 0}, {"elmo_start": 8}, {"elmo_start": -1}], ids=str)
def test_columns_that_do_not_exist_are_refused(parameters):
    with pytest.raises(ConfigurationError, match=next(iter(parameters))):
        build(**parameters)


def test_stateful_encoder_is_reset_through_it():
    inner = {"type": "lstm", "input_size": 7, "hidden_size": 3, "stateful": True}
    encoder = build(encoder=inner)
    first = encoder(INPUTS, MASK)
    assert not torch.equal(encoder(INPUTS, MASK), first)

    encoder.reset_states()
    assert torch.equal(encoder(INPUTS, MASK), first)


def test_tagger_with_elmo_at_input_and_output_by_configuration_alone(tmp_path):
    tiny.write(tmp_path / "bilm")
    configuration = tagging.config(
        tmp_path,
        {"type": "elmo", "weights": str(tmp_path / "bilm"), "num_mixes": 2},
        encoder={
            "type": "elmo_output",
            "elmo_dim": 12,
            "encoder": {"type": "lstm", "input_size": 12, "hidden_size": 5, "bidirectional": True},
        },
        epochs=1,
    )

    model = tagging.train(configuration, tmp_path / "run")

    assert model.tag_projection_layer._module.in_features == 22
    mixes = model.text_field_embedder.token_embedder_elmo.elmo.mixes
    assert all((mix.gamma - 1).abs() > 1e-4 for mix in mixes)  # both were trained
