import pytest
import torch

from elmo_plugin.engine.backends.cuda import lanes
from elmo_plugin.engine.backends.cuda.lanes import Lanes


def test_one_after_the_other_without_a_gpu():
    done = []
    Lanes(torch.device("cpu")).run([lambda: done.append(1), lambda: done.append(2)])

    assert done == [1, 2]


class Stream:
    """A stream that notes what waits for what."""

    def __init__(self, log, name):
        self.log, self.name = log, name

    def wait_stream(self, other):
        self.log.append(f"{self.name} waits for {other.name}")

    def __enter__(self):
        self.log.append(f"on {self.name}")

    def __exit__(self, *args):
        pass


@pytest.fixture
def log(monkeypatch):
    """The log of streams in the place of CUDA's."""
    found, made = [], []

    def new(device):
        made.append(Stream(found, f"side {len(made) + 1}"))
        return made[-1]

    current = Stream(found, "current")
    monkeypatch.setattr(lanes.torch.cuda, "current_stream", lambda device: current)
    monkeypatch.setattr(lanes.torch.cuda, "Stream", new)
    monkeypatch.setattr(lanes.torch.cuda, "stream", lambda stream: stream)
    return found


def test_each_task_has_a_stream_that_begins_and_ends_with_the_current_one(log):
    """No side stream waits for the first task, which is launched on the current one."""
    both = Lanes(torch.device("cuda", 0))
    for _ in range(2):
        log.clear()
        both.run([lambda: log.append("a"), lambda: log.append("b")])

        assert log == [
            "side 1 waits for current",
            "on current",
            "a",
            "on side 1",
            "b",
            "current waits for side 1",
        ]


def test_streams_are_joined_after_an_error(log):
    def fails():
        raise ValueError

    with pytest.raises(ValueError):
        Lanes(torch.device("cuda", 0)).run([lambda: None, fails])

    assert log[-1] == "current waits for side 1"


def test_a_single_task_stays_on_the_current_stream(log):
    Lanes(torch.device("cuda", 0)).run([lambda: log.append("a")])

    assert log == ["on current", "a"]
