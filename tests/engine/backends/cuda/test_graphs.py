from contextlib import nullcontext

import pytest
import torch

from elmo_plugin.engine.backends.cuda.graphs import CudaRecorder, GraphCache, _end
from tests.engine.backends.cuda.fakes import FakeRecorder


class Work:
    """Adds one to a tensor at a fixed place; counts how it is done."""

    def __init__(self, limit):
        self.recorder = FakeRecorder()
        self.cache = GraphCache(self.recorder, limit)
        self.value = torch.zeros(1)
        self.launched = 0

    def run(self, key):
        self.cache.run(key, self._add)

    def _add(self):
        self.launched += 1
        self.value.add_(1)

    @property
    def replays(self):
        return sum(tape.replays for tape in self.recorder.captured)


def test_is_captured_the_second_time_and_done_once_each_time():
    work = Work(limit=2)

    for number in range(1, 5):
        work.run("a")
        assert work.value == number

    assert (work.launched, len(work.recorder.captured), work.replays) == (2, 1, 3)


def test_no_graphs_at_limit_zero():
    assert not Work(limit=0).cache.is_used and Work(limit=1).cache.is_used


def test_the_graph_that_was_used_longest_ago_goes_when_it_has_ended():
    work = Work(limit=2)
    for key in "aabbacc":  # a was used after b
        work.run(key)

    assert (len(work.cache), work.recorder.waits) == (2, 1)
    before = len(work.recorder.captured)
    work.run("a"), work.run("c")
    assert len(work.recorder.captured) == before
    work.run("b"), work.run("b")
    assert len(work.recorder.captured) == before + 1


def test_keys_that_never_come_back_are_forgotten():
    work = Work(limit=3)
    for key in range(100):
        work.run(key)

    assert work.launched == 100 and not work.recorder.captured
    assert len(work.cache._seen) <= 12


def test_clear():
    work = Work(limit=2)
    for key in "aab":
        work.run(key)
    work.cache.clear()

    assert (len(work.cache), work.recorder.waits) == (0, 1)
    work.run("b")
    assert len(work.recorder.captured) == 1, "what was seen is forgotten too"
    work.cache.clear()
    assert work.recorder.waits == 2, "for what ran as it is"


def test_what_is_captured_fails_as_itself():
    class Graph:
        def capture_end(self):
            raise RuntimeError("no stream is capturing")

    with pytest.raises(RuntimeError, match="no stream"):
        _end(Graph(), None)
    _end(Graph(), ValueError("the first"))


def test_the_fake_behaves_as_a_graph_does():
    """Capturing changes nothing, and running again sees new values at the old places, not new tensors."""
    recorder, one, total = FakeRecorder(), torch.ones(2), torch.zeros(2)
    where = {"x": one}

    replay = recorder.capture(lambda: total.add_((where["x"] * 2)[:1] + 1))
    assert total.tolist() == [0, 0]
    replay()
    assert total.tolist() == [3, 3]
    one.fill_(2)
    where["x"] = torch.full((2,), 100.0)
    replay()
    assert total.tolist() == [8, 8]


@pytest.fixture
def pools(monkeypatch):
    """CUDA's graphs with their pools of memory, as PyTorch counts who uses them: by number, how many graphs live."""
    alive = []

    class Stream:
        def __init__(self, device=None):
            pass

        def wait_stream(self, other):
            pass

    class Graph:
        pool = None

        def capture_begin(self, pool):
            # "it->second->use_count > 0 INTERNAL ASSERT FAILED": a pool that was let go cannot be taken up again
            assert pool == len(alive) or alive[pool] > 0
            if pool == len(alive):
                alive.append(0)
            alive[pool] += 1
            self.pool = pool

        def capture_end(self):
            pass

        def replay(self):
            pass

        def __del__(self):
            if self.pool is not None:
                alive[self.pool] -= 1

    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: len(alive))
    return alive


def test_graphs_share_a_pool_as_long_as_one_of_them_lives(pools):
    cache = GraphCache(CudaRecorder(torch.device("cuda", 0)), limit=2)
    for key in "aabbcc":
        cache.run(key, lambda: None)
    assert pools == [2]
    cache.clear()
    for key in "aab":
        cache.run(key, lambda: None)

    assert pools == [0, 1]


def test_a_pool_that_was_let_go_is_not_taken_up_again(pools):
    cache = GraphCache(CudaRecorder(torch.device("cuda", 0)), limit=1)
    for key in "aabb":
        cache.run(key, lambda: None)

    assert pools == [0, 1]
