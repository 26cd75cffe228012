"""The LSTM stack of the biLM as an encoder: from scratch, from weights, state, archives."""

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive
from allennlp.modules.elmo_lstm import ElmoLstm
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from elmo_plugin.engine import ShapeError, batch_to_ids
from elmo_plugin.seq2seq_encoders.elmo_bilm import ElmoBiLmEncoder
from elmo_plugin.token_embedders.elmo import ElmoEmbedder
from tests import tagging, tiny
from tests.engine.tolerance import LAYERS, assert_close

MASK = torch.tensor([[True] * 5, [True, True, False, False, False], [False] * 5])


def inputs(width):
    return torch.randn(3, 5, width, generator=torch.Generator().manual_seed(1))


def build(**parameters):
    encoder = Seq2SeqEncoder.from_params(Params({"type": "elmo_bilm", **parameters}))
    assert isinstance(encoder, ElmoBiLmEncoder)
    return encoder


@pytest.fixture
def weights(tmp_path):
    tiny.write(tmp_path / "bilm")
    return str(tmp_path / "bilm")


def test_widths_from_scratch():
    encoder = build(input_size=7, hidden_size=4, cell_size=9)

    assert (encoder.get_input_dim(), encoder.get_output_dim(), encoder.is_bidirectional()) == (7, 8, True)
    assert encoder(inputs(7), MASK).shape == (3, 5, 8)


def test_every_size_and_bound_is_used():
    def shapes(**parameters):
        return [tuple(p.shape) for p in build(input_size=4, hidden_size=4, **parameters).parameters()]

    assert shapes(cell_size=6, num_layers=1) == [(24, 4), (24, 4), (24,), (4, 6)] * 2
    assert shapes(num_layers=3) == [(16, 4), (16, 4), (16,)] * 6  # as wide as its cell: no projection

    def outputs(**parameters):
        torch.manual_seed(0)
        encoder = build(**{**{"input_size": 4, "hidden_size": 4, "cell_size": 6, "num_layers": 2}, **parameters})
        return encoder(10 * inputs(4), MASK)

    usual = outputs()
    for change in ({"cell_clip": 0.1}, {"projection_clip": 0.01}, {"use_skip_connections": False}):
        assert (outputs(**change) - usual).abs().max() > 1e-3, change
    assert torch.equal(outputs(backend="reference").isfinite(), usual.isfinite())


def test_everything_trains_from_scratch():
    encoder = build(input_size=7, hidden_size=4, cell_size=9)
    encoder(inputs(7), MASK).pow(2).sum().backward()

    assert all(p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_stack_of_a_bilm_gives_its_last_layer(weights):
    ids = batch_to_ids(tiny.SENTENCES[:1])
    bilm = ElmoEmbedder(weights=weights).elmo.bilm
    layers = bilm(ids).layers

    encoded = build(weights=weights)(layers[0, :, :, :6])

    torch.testing.assert_close(encoded, layers[-1], rtol=0, atol=5e-6)


def test_it_equals_allennlps_stack(tmp_path):
    _, weight_file = tiny.write(tmp_path / "bilm")
    stock = ElmoLstm(6, 6, 12, 2, memory_cell_clip_value=3.0, state_projection_clip_value=3.0)
    stock.load_weights(weight_file)
    encoder = build(weights=weight_file)

    expected = stock(inputs(6), MASK)[-1]
    torch.testing.assert_close(encoder(inputs(6), MASK), expected, rtol=0, atol=5e-6)


def test_input_of_another_width_goes_through_a_linear_map(weights):
    encoder, plain = build(weights=weights, input_size=9, trainable=False), build(weights=weights)
    given = inputs(9)

    vectors = encoder(given, MASK)
    vectors.sum().backward()

    assert (encoder.get_input_dim(), encoder.get_output_dim()) == (9, plain.get_output_dim())
    assert_close(vectors, plain(encoder._input_map(given), MASK), LAYERS[torch.float32])
    assert [name for name, p in encoder.named_parameters() if p.grad is not None] == [
        "_input_map.weight",
        "_input_map.bias",
    ]
    assert build(weights=weights, input_size=6)._input_map is None


def test_frozen_stack_passes_gradients_to_its_input(weights):
    encoder = build(weights=weights, trainable=False)
    below = inputs(6).requires_grad_()
    encoder(below, MASK).sum().backward()

    assert below.grad[0].abs().sum() > 0
    assert (below.grad[2] == 0).all()
    assert all(p.grad is None for p in encoder.parameters())


def test_state_is_reset_unless_asked_otherwise(weights):
    reset, carried = build(weights=weights), build(weights=weights, state="carried")
    assert (reset.stateful, carried.stateful) == (False, True)
    first = reset(inputs(6), MASK)
    assert torch.equal(reset(inputs(6), MASK), first)

    assert torch.equal(carried(inputs(6), MASK), first)
    assert not torch.equal(carried(inputs(6), MASK), first)
    carried.reset_states()
    assert torch.equal(carried(inputs(6), MASK), first)
    with pytest.raises(ConfigurationError, match="all rows"):
        carried.reset_states(torch.tensor([True, False, False]))


def test_saved_and_loaded_starts_anew(weights):
    encoder = build(weights=weights, state="carried")
    first = encoder(inputs(6), MASK)

    encoder.load_state_dict(encoder.state_dict())
    assert torch.equal(encoder(inputs(6), MASK), first)


def test_weights_of_another_bilm_are_refused_where_the_shapes_fit(weights, tmp_path):
    tiny.write(tmp_path / "other", clip=1.0)
    saved = build(weights=weights).state_dict()

    build(weights=weights).load_state_dict(saved)
    build(input_size=6, hidden_size=6, cell_size=12).load_state_dict(saved)
    with pytest.raises(ConfigurationError, match=r"cell_clip=3\.0.*other\) have .*cell_clip=1\.0"):
        build(weights=str(tmp_path / "other")).load_state_dict(saved)


def test_padding_is_zero_and_a_batch_may_be_empty(weights):
    encoder = build(weights=weights)
    outputs = encoder(inputs(6), MASK)

    assert (outputs[~MASK] == 0).all()
    assert (encoder(inputs(6), torch.zeros_like(MASK)) == 0).all()


def test_mask_with_a_hole_is_refused(weights):
    with pytest.raises(ShapeError, match="row 0 of the mask has padding in front of or between its 2 steps"):
        build(weights=weights)(inputs(6)[:1], torch.tensor([[True, False, True, False, False]]))


@pytest.mark.parametrize(
    "parameters,match",
    [
        ({"cell_size": 5}, '"cell_size" is 5'),
        ({"num_layers": 3}, '"num_layers" is 3'),
        ({"cell_clip": 5.0}, r'"cell_clip" is 5\.0.*has 3\.0\. Leave it out\.'),
        ({"cell_clip": None}, '"cell_clip" is None.*has 3'),
        ({"projection_clip": 0.5}, '"projection_clip" is 0.5'),
        ({"use_skip_connections": False}, '"use_skip_connections" is False.*has True'),
        ({"state": "warm"}, '"state" is .warm.'),
    ],
    ids=str,
)
def test_parameters_that_contradict_the_weights_are_refused(weights, parameters, match):
    with pytest.raises(ConfigurationError, match=match):
        build(weights=weights, **parameters)


@pytest.mark.parametrize("name", ["hidden_size", "cell_size", "num_layers"])
def test_nothing_is_no_size(name):
    with pytest.raises(ConfigurationError, match=f'elmo_bilm: "{name}" is 0, expected a whole number of at least 1'):
        build(**{"input_size": 4, "hidden_size": 4, name: 0})


@pytest.mark.parametrize("size", [0, -1])
def test_input_without_a_width_is_refused(weights, size):
    with pytest.raises(ConfigurationError, match=f'"input_size" is {size}, expected .* at least 1'):
        build(input_size=size, hidden_size=4)
    with pytest.raises(ConfigurationError, match=f'"input_size" is {size}'):
        build(input_size=size, weights=weights)


@pytest.mark.parametrize("shape", [(3, 5, 7), (3, 5), (1, 3, 5, 6)], ids=str)
def test_inputs_of_another_width_are_refused(weights, shape):
    with pytest.raises(ShapeError, match=r"expected \(batch, steps, 6\)"):
        build(weights=weights)(torch.zeros(shape))


def test_missing_sizes_are_named():
    with pytest.raises(ConfigurationError, match='"input_size" and "hidden_size", or "weights"'):
        build(input_size=3)


def test_archive_loads_without_the_weights(weights, tmp_path):
    tiny.write(tmp_path / "embedder", seed=1)
    configuration = tagging.config(
        tmp_path,
        {"type": "elmo", "weights": str(tmp_path / "embedder"), "projection_dim": 7, "dropout": 0.0},
        encoder={"type": "elmo_bilm", "weights": weights, "input_size": 7},
        width=6,
        epochs=1,
    )
    trained = tagging.train(configuration, tmp_path / "run").eval()
    for folder in ("bilm", "embedder"):
        (tmp_path / folder).rename(tmp_path / f"{folder}_moved")

    loaded = load_archive(tmp_path / "run" / "model.tar.gz").model

    assert torch.equal(loaded.encoder(inputs(7), MASK), trained.encoder(inputs(7), MASK))
