import copy
import logging

import pytest
import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.reference import ReferenceBackend
from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError
from elmo_plugin.engine.lstm import BiLstm, LstmState
from elmo_plugin.engine.options import LstmOptions
from elmo_plugin.engine.packing import Packing
from tests.engine.tolerance import LAYERS, assert_close

OPTIONS = LstmOptions(dim=5, projection_dim=3, n_layers=2, cell_clip=3.0, proj_clip=3.0, use_skip_connections=True)
CPU = torch.device("cpu")
TOLERANCE = LAYERS[torch.float64]


def stack(options=OPTIONS, **others):
    torch.manual_seed(0)
    lstm = BiLstm(options, **others).double()
    for parameter in lstm.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return lstm


def random_state(lstm, rows):
    zeros = lstm.zero_state(rows, torch.zeros(1))
    return LstmState(torch.randn_like(zeros.hidden), torch.randn_like(zeros.cell))


def test_shapes():
    lstm = stack(input_dim=4)
    packing = Packing([3, 1], CPU)

    layers, state = lstm(torch.randn(4, 4), packing, lstm.zero_state(2, torch.zeros(1)))

    assert [layer.shape for layer in layers] == [(4, 6), (4, 6)]
    assert state.hidden.shape == (2, 2, 6)
    assert state.cell.shape == (2, 2, 10)
    assert state.rows == 2


def test_names_and_shapes_of_the_weights():
    assert {name: tuple(value.shape) for name, value in BiLstm(OPTIONS, input_dim=4).state_dict().items()} == {
        f"{direction}_layers.{layer}.{name}": shape
        for direction in ("forward", "backward")
        for layer, inputs in enumerate((4, 3))
        for name, shape in (
            ("input_weight", (20, inputs)),
            ("recurrent_weight", (20, 3)),
            ("bias", (20,)),
            ("projection_weight", (3, 5)),
            ("forget_residual", (5,)),
        )
    }
    assert "forward_layers.0.projection_weight" not in BiLstm(LstmOptions(3, 3)).state_dict()


def test_directions_meet_only_in_the_output():
    lstm = stack()
    packing = Packing([6], CPU)
    inputs = torch.randn(6, 3).double()
    start = random_state(lstm, 1)
    before, _ = lstm(inputs, packing, start)
    inputs[3] += 1.0
    after, _ = lstm(inputs, packing, start)

    for layer in range(2):
        changed = (after[layer] != before[layer]).any(dim=0)
        assert changed.all()
        step_changed = [
            (after[layer] != before[layer])[:, half].any(dim=1).tolist() for half in (slice(3), slice(3, 6))
        ]
        assert step_changed == [[False] * 3 + [True] * 3, [True] * 4 + [False] * 2]


@pytest.mark.parametrize("skip", [False, True])
def test_skip_connections_add_the_input_of_every_layer_but_the_first(skip):
    options = LstmOptions(5, 3, 3, use_skip_connections=skip)
    lstm = stack(options)
    packing = Packing([4], CPU)
    inputs = torch.randn(4, 3).double()
    zeros = lstm.zero_state(1, inputs)

    layers, _ = lstm(inputs, packing, zeros)

    below = torch.cat([inputs, inputs], dim=1)
    for index in range(3):
        # one layer alone, which never has a skip connection
        single = BiLstm(LstmOptions(5, 3)).double()
        single.forward_layers[0] = lstm.forward_layers[index]
        single.backward_layers[0] = lstm.backward_layers[index]
        state = single.zero_state(1, inputs)
        forward = single(below[:, :3], packing, state)[0][0][:, :3]
        backward = single(below[:, 3:], packing, state)[0][0][:, 3:]
        own = torch.cat([forward, backward], dim=1)
        assert_close(layers[index], own + below if skip and index > 0 else own, TOLERANCE)
        below = layers[index]


def test_state_is_kept_before_the_skip_connection():
    lstm = stack()
    inputs = torch.randn(1, 3).double()

    layers, state = lstm(inputs, Packing([1], CPU), lstm.zero_state(1, inputs))

    assert_close(state.hidden[1] + layers[0], layers[1], TOLERANCE)


def test_a_row_in_two_parts():
    """Forward, the second part goes on from the state behind the first; backward, the first from the second."""
    lstm = stack()
    inputs = torch.randn(7, 3).double()
    start = random_state(lstm, 1)
    whole, final = lstm(inputs, Packing([7], CPU), start)

    left, middle = lstm(inputs[:4], Packing([4], CPU), start)
    right, end = lstm(inputs[4:], Packing([3], CPU), middle)
    assert_close(torch.cat([left[0], right[0]])[:, :3], whole[0][:, :3], TOLERANCE)
    assert_close(end.cell[0, :, :5], final.cell[0, :, :5], TOLERANCE)

    right, middle = lstm(inputs[4:], Packing([3], CPU), start)
    left, end = lstm(inputs[:4], Packing([4], CPU), middle)
    assert_close(torch.cat([left[0], right[0]])[:, 3:], whole[0][:, 3:], TOLERANCE)
    assert_close(end.hidden[0, :, 3:], final.hidden[0, :, 3:], TOLERANCE)


def test_streams_equal_rows_with_the_backward_text_reversed():
    lstm = stack(input_dim=4)
    inputs = torch.randn(3, 6, 4).double()
    packing = Packing([6, 6, 6], CPU)
    start = random_state(lstm, 3)

    layers, expected = lstm(packing.pack(inputs), packing, start)
    forward, backward, state = lstm.run_streams(inputs, inputs.flip(1), start)

    assert forward.shape == backward.shape == (3, 6, 3)
    last = packing.unpack(layers[-1], 3, 6)
    assert_close(forward, last[..., :3], TOLERANCE)
    assert_close(backward.flip(1), last[..., 3:], TOLERANCE)
    assert_close(state.hidden, expected.hidden, TOLERANCE)
    assert_close(state.cell, expected.cell, TOLERANCE)


def test_streams_go_on_where_they_stopped():
    lstm = stack()
    forward, backward = torch.randn(2, 2, 6, 3).double()
    whole = lstm.run_streams(forward, backward)

    first = lstm.run_streams(forward[:, :4], backward[:, :4])
    second = lstm.run_streams(forward[:, 4:], backward[:, 4:], first[2].detach())

    for direction in range(2):
        assert_close(torch.cat([first[direction], second[direction]], dim=1), whole[direction], TOLERANCE)
    assert_close(second[2].hidden, whole[2].hidden, TOLERANCE)


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3)])
def test_streams_without_tokens(shape):
    lstm = stack()

    forward, backward, state = lstm.run_streams(torch.zeros(shape), torch.zeros(shape))

    assert forward.shape == backward.shape == shape
    assert state.hidden.shape[2] == 6


def test_dropout_of_streams():
    lstm = stack()
    streams = torch.ones(2, 50, 3).double()

    def run(dropout, seed):
        torch.manual_seed(seed)
        return lstm.run_streams(streams, streams, dropout=dropout)[0]

    assert torch.equal(run(0.0, 1), run(0.0, 2))
    assert torch.equal(run(0.5, 1), run(0.5, 1))
    assert not torch.equal(run(0.5, 1), run(0.5, 2))
    assert not torch.equal(run(0.5, 1), run(0.0, 1))


def test_dropout_falls_on_the_skip_connection_too():
    """bilm-tf drops the input of a layer before that is added to the layer's output."""
    lstm = stack()
    for layer in (lstm.forward_layers[1], lstm.backward_layers[1]):
        torch.nn.init.zeros_(layer.projection_weight)  # so that nothing but the skip connection is left
    streams = torch.ones(1, 200, 3).double()

    last, _, _ = lstm.run_streams(streams, streams, dropout=0.3)

    assert float((last == 0).double().mean()) == pytest.approx(0.3, abs=0.08)


def test_every_weight_gets_a_gradient_and_the_residual_none():
    lstm = stack()
    layers, state = lstm(torch.randn(6, 3).double(), Packing([4, 2], CPU), random_state(lstm, 2))
    (sum(layer.sum() for layer in layers) + state.cell.sum()).backward()

    for name, parameter in lstm.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert "forward_layers.0.forget_residual" in dict(lstm.named_buffers())


def test_the_residual_takes_no_part():
    lstm = stack()
    inputs = torch.randn(3, 3).double()
    before, _ = lstm(inputs, Packing([3], CPU), lstm.zero_state(1, inputs))
    for buffer in lstm.buffers():
        buffer.fill_(float("nan"))

    assert torch.equal(lstm(inputs, Packing([3], CPU), lstm.zero_state(1, inputs))[0][1], before[1])
    lstm.clear_residuals()
    assert not any(buffer.any() for buffer in lstm.buffers())


def test_gradients_reach_the_inputs_of_a_frozen_stack():
    lstm = stack().requires_grad_(False)
    inputs = torch.randn(3, 3).double().requires_grad_()
    lstm(inputs, Packing([3], CPU), lstm.zero_state(1, inputs))[0][1].sum().backward()

    assert inputs.grad.abs().min() > 0
    assert all(parameter.grad is None for parameter in lstm.parameters())


def test_weights_start_as_in_tensorflow():
    torch.manual_seed(0)
    layer = BiLstm(LstmOptions(60, 20), input_dim=30).forward_layers[0]

    for weights, bound in (
        (layer.input_weight, (6 / (30 + 20 + 240)) ** 0.5),
        (layer.recurrent_weight, (6 / (30 + 20 + 240)) ** 0.5),
        (layer.projection_weight, (6 / (60 + 20)) ** 0.5),
    ):
        assert 0.99 * bound < float(weights.detach().abs().max()) <= bound
        assert abs(float(weights.detach().mean())) < 0.05 * bound
    assert layer.bias[60:120].eq(1).all()
    assert float(layer.bias.detach().sum()) == 60, "all but the forget gates start at 0"


def test_reset_parameters_draws_anew():
    lstm = stack()
    before = copy.deepcopy(lstm.state_dict())
    lstm.reset_parameters()

    for name, value in lstm.state_dict().items():
        assert name.endswith("residual") or not torch.equal(value, before[name]), name


@pytest.mark.parametrize("enabled", [False, True])
def test_computes_in_the_dtype_of_the_weights(enabled):
    """Whatever the dtype of the inputs, and inside autocast too."""
    lstm = stack()
    inputs = torch.randn(4, 3).double()
    packing = Packing([3, 1], CPU)
    expected, expected_state = lstm(inputs.bfloat16().double(), packing, lstm.zero_state(2, inputs))

    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        state = lstm.zero_state(2, inputs.bfloat16())
        actual, actual_state = lstm(inputs.bfloat16(), packing, state)

    assert state.hidden.dtype == state.cell.dtype == torch.float64
    assert torch.equal(actual[1], expected[1])
    assert torch.equal(actual_state.cell, expected_state.cell)


def test_state_operations():
    state = LstmState(torch.randn(2, 3, 4, requires_grad=True), torch.randn(2, 3, 6))

    assert not state.detach().hidden.requires_grad
    assert state.to(torch.zeros(1, dtype=torch.float64)).cell.dtype == torch.float64
    picked = state.select(torch.tensor([2, 0]))
    assert picked.rows == 2
    assert torch.equal(picked.hidden[:, 0], state.hidden[:, 2])
    assert torch.equal(picked.cell[:, 1], state.cell[:, 0])


class Elsewhere(ReferenceBackend):
    name = "elsewhere"

    def supports(self, device):
        return device.type != "cpu"


def test_a_backend_that_was_asked_for_is_used_or_refused(monkeypatch):
    monkeypatch.setitem(backends._BACKENDS, "elsewhere", Elsewhere())
    lstm = stack(backend="elsewhere")
    inputs = torch.randn(1, 3).double()

    with pytest.raises(
        BackendUnavailableError, match="'elsewhere' was asked for, but the tensors are on cpu.*\"auto\""
    ):
        lstm(inputs, Packing([1], CPU), lstm.zero_state(1, inputs))
    with pytest.raises(BackendUnavailableError, match="unknown backend 'nowhere'"):
        stack(backend="nowhere")


def test_a_precision_is_had_or_refused():
    with pytest.raises(OptionsError, match=r"unknown precision 'int4'; choose one of \['float32', 'float16', 'int8'\]"):
        BiLstm(LstmOptions(4, 3), precision="int4")
    message = "precision 'int8' cannot be had here: the backend 'reference' computes in the dtype of the weights. Leave"
    with pytest.raises(BackendUnavailableError, match=message):
        BiLstm(LstmOptions(4, 3), backend="reference", precision="int8")
    elsewhere = BiLstm(LstmOptions(4, 3), precision="float16").to("meta")
    with pytest.raises(BackendUnavailableError, match="precision 'float16' cannot be had here"):
        elsewhere.backend_for(torch.device("meta"))


@pytest.mark.parametrize("name", ["reference", "cpu", "compiled"])
def test_the_backend_that_was_asked_for_runs(monkeypatch, name, require_backend):
    require_backend(name)
    runs = []
    kind = type(backends.get(name))
    run = kind.run
    monkeypatch.setattr(kind, "run", lambda self, *args: runs.append(1) or run(self, *args))
    lstm = stack(backend=name)
    lstm(torch.randn(1, 3).double(), Packing([1], CPU), lstm.zero_state(1, torch.zeros(1)))

    assert len(runs) == 2, "once for each layer"


def test_auto_chooses_once_and_says_so_at_construction(caplog):
    name = backends.choose(CPU).name
    with caplog.at_level(logging.INFO):
        lstm = stack()
        assert caplog.text.count(f"backend '{name}' for tensors on cpu") == 1
        for _ in range(3):
            lstm(torch.randn(1, 3).double(), Packing([1], CPU), lstm.zero_state(1, torch.zeros(1)))

    assert caplog.text.count(f"backend '{name}' for tensors on cpu") == 1
