import pytest
import torch
from torch import nn

from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.stream_state import StreamStates

LIKE = torch.zeros(1)


def state(value, rows=2):
    return LstmState(torch.full((1, rows, 4), float(value)), torch.full((1, rows, 6), float(value)))


def test_streams_begin_without_a_state():
    streams = StreamStates()

    assert streams.get(True, 2, LIKE) is None and streams.get(False, 2, LIKE) is None
    assert streams.state_dict() == {}


def test_training_and_evaluation_are_kept_apart():
    streams = StreamStates()
    streams.put(True, state(1))
    streams.put(False, state(2))

    assert torch.equal(streams.get(True, 2, LIKE).hidden, state(1).hidden)
    assert torch.equal(streams.get(False, 2, LIKE).cell, state(2).cell)
    streams.reset(False)
    assert streams.get(False, 2, LIKE) is None and streams.get(True, 2, LIKE) is not None


def test_other_rows_begin_anew():
    streams = StreamStates()
    streams.put(True, state(1, rows=3))

    assert streams.get(True, 2, LIKE) is None
    assert streams.get(True, 3, LIKE).rows == 3


def test_state_has_no_history_and_the_dtype_of_the_call():
    streams = StreamStates()
    streams.put(True, LstmState(state(1).hidden.requires_grad_() * 2, state(1).cell))
    found = streams.get(True, 2, LIKE.double())

    assert not found.hidden.requires_grad and found.hidden.dtype == found.cell.dtype == torch.float64


@pytest.mark.parametrize("strict", [True, False])
def test_state_of_training_is_saved_and_loaded(strict):
    model, other = nn.ModuleDict({"streams": StreamStates()}), nn.ModuleDict({"streams": StreamStates()})
    model["streams"].put(True, state(1))
    model["streams"].put(False, state(2))
    saved = model.state_dict()
    assert sorted(saved) == ["streams.cell", "streams.hidden", "streams.steps"]

    other.load_state_dict(saved, strict=strict)
    saved["streams.hidden"].fill_(9)
    assert torch.equal(other["streams"].get(True, 2, LIKE).hidden, state(1).hidden)
    assert other["streams"].get(False, 2, LIKE) is None
    assert other["streams"].steps == 1

    other.load_state_dict({}, strict=strict)
    assert other["streams"].get(True, 2, LIKE) is None
    assert other["streams"].steps == 0
