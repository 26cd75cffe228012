"""The packed encoder gives what AllenNLP's `alternating_lstm` gives, forward, backward and with dropout."""

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from elmo_plugin.engine.errors import ShapeError

SIZES = {"input_size": 7, "hidden_size": 4, "num_layers": 3}
LENGTHS = [3, 6, 1, 5]


def build(kind, **parameters):
    return Seq2SeqEncoder.from_params(Params({"type": kind, **SIZES, **parameters})).double()


def pair(**parameters):
    """AllenNLP's encoder, and ours with its weights."""
    torch.manual_seed(0)
    theirs, ours = build("alternating_lstm", **parameters), build("packed_alternating_lstm", **parameters)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def batch(lengths=LENGTHS, steps=8):
    inputs = torch.randn(len(lengths), steps, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    mask = torch.arange(steps) < torch.tensor(lengths).unsqueeze(1)
    return inputs, mask


def run(encoder, inputs, mask, seed=3):
    inputs = inputs.clone().requires_grad_()
    torch.manual_seed(seed)
    outputs = encoder(inputs, mask)
    (outputs * torch.linspace(-1, 1, outputs.numel(), dtype=torch.float64).view_as(outputs)).sum().backward()
    return outputs, [inputs.grad] + [parameter.grad for parameter in encoder.parameters()]


@pytest.mark.parametrize(
    "parameters", [{}, {"use_highway": False}, {"use_input_projection_bias": False}], ids=lambda value: str(list(value))
)
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_equals_allennlp(parameters, dropout):
    """The random numbers of the dropout are drawn in the same order, so that even these masks are equal."""
    theirs, ours = pair(recurrent_dropout_probability=dropout, **parameters)
    inputs, mask = batch()

    expected, expected_gradients = run(theirs, inputs, mask)
    actual, gradients = run(ours, inputs, mask)

    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)
    for found, wanted in zip(gradients, expected_gradients):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("inside", ["forward", "backward"])
def test_autocast_changes_nothing(inside):
    """A trainer with `use_amp`; AllenNLP's encoder runs there too."""
    ours = pair()[1].float()
    inputs, mask = batch()
    inputs = inputs.bfloat16()  # as what stands in front of it leaves them
    results = []
    for enabled in (False, True):
        ours.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled and inside == "forward"):
            outputs = ours(inputs, mask)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled and inside == "backward"):
            outputs.sum().backward()
        results.append([outputs.detach(), *(parameter.grad.clone() for parameter in ours.parameters())])

    for one, other in zip(*results):
        assert one.dtype == torch.float32 and torch.equal(one, other)


def test_initial_weights_are_those_of_allennlp():
    torch.manual_seed(5)
    expected = build("alternating_lstm").state_dict()
    torch.manual_seed(5)
    actual = build("packed_alternating_lstm").state_dict()

    assert list(actual) == list(expected)
    assert all(torch.equal(actual[name], expected[name]) for name in expected)


def test_no_dropout_in_evaluation():
    _, ours = pair(recurrent_dropout_probability=0.5)
    inputs, mask = batch()

    first = ours.eval()(inputs, mask)

    assert torch.equal(first, ours(inputs, mask))


def test_rows_without_tokens_and_padding_are_zero():
    _, ours = pair()
    inputs, mask = batch([0, 3, 0])

    outputs = ours(inputs, mask)

    assert outputs.shape == (3, 8, 4)
    assert (outputs[~mask] == 0).all() and (outputs[mask] != 0).any()


def test_a_batch_without_tokens():
    _, ours = pair()

    assert (ours(*batch([0, 0])) == 0).all()


def test_without_mask_every_step_counts():
    _, ours = pair()
    inputs, mask = batch([8, 8])

    assert torch.equal(ours(inputs), ours(inputs, mask))


def test_inputs_that_do_not_fit_are_refused():
    _, ours = pair()
    inputs, mask = batch()

    with pytest.raises(ShapeError, match=r"\(4, 8, 6\), expected \(batch, steps, 7\)"):
        ours(inputs[..., :6], mask)
    with pytest.raises(ShapeError, match="padding in front of or between"):
        ours(inputs, mask.flip(1))
    with pytest.raises(ConfigurationError, match="recurrent_dropout_probability.*is 1"):
        build("packed_alternating_lstm", recurrent_dropout_probability=1)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("size", [0, -1])
def test_sizes_below_one_are_refused(name, size):
    with pytest.raises(ConfigurationError, match=f'"{name}" is {size}, expected at least 1'):
        build("packed_alternating_lstm", **{name: size})
