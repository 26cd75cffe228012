import pytest
import torch

from elmo_plugin.engine.streams import StreamOrder


@pytest.fixture
def log(monkeypatch):
    """What streams and events, in the place of CUDA's, are told."""
    found = []

    class Stream:
        def __init__(self, device):
            self.device = device

        def wait_event(self, event):
            found.append(f"{self.device} waits for {event.device}")

    class Event:
        def record(self, stream):
            self.device = stream.device
            found.append(f"{stream.device} records")

    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    return found


def test_each_turn_waits_for_the_one_before(log):
    order, device = StreamOrder(), torch.device("cuda", 0)
    with order.turn(device):
        log.append("work")
    with pytest.raises(ValueError), order.turn(device):
        raise ValueError
    with order.turn(device):
        pass

    first, wait = "cuda:0 records", "cuda:0 waits for cuda:0"
    assert log == ["work", first, wait, first, wait, first]


def test_devices_do_not_wait_for_each_other(log):
    order = StreamOrder()
    for index in (0, 1, 1):
        with order.turn(torch.device("cuda", index)):
            pass

    assert log == ["cuda:0 records", "cuda:1 records", "cuda:1 waits for cuda:1", "cuda:1 records"]


def test_nothing_to_put_in_order_on_a_cpu(log):
    with StreamOrder().turn(torch.device("cpu")):
        pass

    assert log == []
