import pytest
import torch

from elmo_plugin.benchmark import machine, speed
from elmo_plugin.benchmark.peers import Peer, PeerUnavailableError
from elmo_plugin.benchmark.peers.base import DTYPES
from elmo_plugin.benchmark.speed import Bench, Case

CASE = Case("tiny", 2, "natural", 1, "cpu")
BATCHES = [[["a", "b", "c"], ["d"]], [["e"], ["f"]]]


class Fake(Peer):
    """Gives the ids as layers, plus what it is told to add; takes as long as it is told."""

    def __init__(self, name, seconds=1.0, off=0.0, needs=0, same=True, raises=None, precision="float32"):
        super().__init__(name, precision, torch.device("cpu"))
        self.same_function = same
        self._seconds, self._off, self._needs, self._raises = seconds, off, needs, raises
        self.measured = 0

    def layers(self, ids):
        if self._raises is not None:
            raise self._raises
        base = ids[..., :4].to(torch.float64) / 300
        return torch.stack([base, base + 0.5]).to(DTYPES[self.precision]) + self._off

    def vectors(self, ids):
        return self.layers(ids).mean(dim=0)

    def memory_needed(self, ids):
        return self._needs

    def seconds(self, ids):
        self.measured += 1
        return self._seconds


TRUTH = Fake("truth", precision="float64")


def measure(*peers, baselines=("slow",)):
    return Bench(peers, TRUTH, baselines).measure(CASE, BATCHES, rounds=3, seconds=60)


def test_speeds_and_ratios():
    result = measure(Fake("slow", seconds=2.0), Fake("fast", seconds=0.5))

    slow, fast = result.peers
    assert (result.words, result.batches, result.padded, result.baseline) == (6, 2, 8, "slow")
    assert result.truth == "truth float64"
    assert slow.seconds == [4.0] * 3 and fast.seconds == [1.0] * 3
    assert (slow.words_per_second, fast.words_per_second) == (1.5, 6.0)
    assert (fast.ratio.median, fast.ratio.low, fast.ratio.high) == (4, 4, 4)
    assert fast.error < 1e-6 and fast.tolerance == 1e-5 and fast.refused is None


def test_no_speed_where_vectors_differ():
    wrong = Fake("wrong", off=1e-3)

    result = measure(Fake("slow"), wrong).peers[1]

    assert wrong.measured == 0
    assert result.differs
    assert result.refused == "its vectors are wrong: error 1.0e-03"
    assert result.seconds == [] and result.words_per_second is None and result.ratio is None


def test_a_single_wrong_batch_is_enough():
    class Once(Fake):
        def layers(self, ids):
            return super().layers(ids) + (1e-3 if ids.shape[1] == 1 else 0.0)

    assert measure(Fake("slow"), Once("wrong")).peers[1].differs


def test_mean_of_the_layers_is_compared_too():
    class WrongMix(Fake):
        def vectors(self, ids):
            return self.layers(ids)[0]

    assert measure(Fake("slow"), WrongMix("wrong")).peers[1].differs


def test_not_a_number_is_wrong_and_fits_into_json():
    result = measure(Fake("slow"), Fake("wrong", off=float("nan"))).peers[1]

    assert result.differs and result.error is None


def test_another_function_is_measured_all_the_same():
    result = measure(Fake("slow"), Fake("other", off=0.1, same=False)).peers[1]

    assert not result.differs and result.refused is None and result.tolerance is None
    assert result.error == pytest.approx(0.1, rel=0.01)
    assert result.words_per_second is not None


def test_too_large_for_the_memory(monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda device: 10 * 2**30)
    large = Fake("slow", needs=8 * 2**30)

    result = measure(large, Fake("fast", needs=6 * 2**30))

    assert large.measured == 0
    assert result.peers[0].refused == "needs about 8 GiB, 10 GiB are free"
    assert not result.peers[0].differs
    # no baseline, no ratios, but speeds
    assert result.baseline is None and result.peers[1].ratio is None and result.peers[1].words_per_second


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda device: None)

    assert measure(Fake("slow", needs=2**60)).peers[0].refused is None


@pytest.mark.parametrize(
    "problem,reason",
    [
        (PeerUnavailableError("its process ended"), "its process ended"),
        (RuntimeError("CUDA out of memory. Tried\nmore"), "CUDA out of memory. Tried"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_peer_that_gives_up(problem, reason):
    result = measure(Fake("slow"), Fake("weak", raises=problem)).peers[1]

    assert result.refused == reason and not result.differs and result.error is None


@pytest.mark.parametrize("fault", ["size mismatch", "CUDA error: an illegal memory access was encountered"])
def test_faults_are_not_hidden(fault):
    with pytest.raises(RuntimeError, match=fault):
        measure(Fake("slow", raises=RuntimeError(fault)))


def test_how_a_peer_rounds_decides_what_it_may_be_off_by():
    peers = [Fake("slow"), Fake("compiled int8", off=0.06), Fake("cpu int8", off=0.06)]
    for peer in peers[1:]:
        peer.rounding = f"int8 of {peer.name.split()[0]}"

    assert [peer.differs for peer in measure(*peers).peers] == [False, True, False]


def test_truth_runs_in_pieces_of_rows(monkeypatch):
    monkeypatch.setattr(speed, "_TRUTH_ROWS", 1)
    shapes = []

    class Watched(Fake):
        def layers(self, ids):
            shapes.append(tuple(ids.shape[:2]))
            return super().layers(ids)

    truth = Watched("truth", precision="float64")
    result = Bench([Fake("slow")], truth, ["slow"]).measure(CASE, BATCHES, 3, 60)

    assert shapes == [(1, 3), (1, 3), (1, 1), (1, 1)]
    assert result.peers[0].error < 1e-6


def test_lengths():
    assert speed.lengths_of(BATCHES) == [(3, 1), (1, 1)]
