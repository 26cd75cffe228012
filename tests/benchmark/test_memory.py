import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from elmo_plugin.benchmark import machine, memory, memory_worker
from elmo_plugin.benchmark.memory import Memory, Request
from elmo_plugin.benchmark.peers import PeerUnavailableError, WeightFiles
from elmo_plugin.benchmark.sizes import random_model
from elmo_plugin.benchmark.speed import Case
from elmo_plugin.engine.characters import batch_to_ids

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="not Linux")

CASE = Case("tiny", 2, "natural", 1, "cpu")


@pytest.fixture
def request_for(tmp_path):
    np.save(tmp_path / "ids.npy", batch_to_ids([["a", "b"], ["c"]]).numpy())

    def make(peer, with_files):
        files = WeightFiles()
        made = [str(path) for path in files.of(random_model("tiny", 0))] if with_files else [None, None]
        request.addfinalizer(files.close)
        return json.dumps(asdict(Request(peer, "float32", "tiny", 1, "cpu", str(tmp_path / "ids.npy"), *made, 0)))

    request = _Finalizers()
    yield make
    request.run()


class _Finalizers:
    def __init__(self):
        self._all = []

    def addfinalizer(self, function):
        self._all.append(function)

    def run(self):
        for function in self._all:
            function()


def in_a_process_of_its_own(*arguments):
    """What the worker found, as in use: memory that other tests have freed is taken again unseen, or given back."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("with_files", [True, False])
@pytest.mark.parametrize("peer", ["cpu", "transcription", "allennlp"])
def test_worker(request_for, peer, with_files):
    if peer == "allennlp":
        pytest.importorskip("allennlp")

    found = in_a_process_of_its_own("-m", "elmo_plugin.benchmark.memory_worker", request_for(peer, with_files))

    assert set(found) == {"loaded", "peak", "peak_of_loading"}
    assert found["peak"] >= 0


GREEDY = """
import json, sys
import torch
from elmo_plugin.benchmark import memory_worker


class Greedy:
    def prepare(self, ids):
        return ids

    def memory_needed(self, ids):
        return 0

    def vectors(self, ids):
        torch.ones(2**25)


def build(request, device):
    torch.ones(2**26)
    return Greedy()


memory_worker._build = build
print(json.dumps(memory_worker.main(sys.argv[1])))
"""


def test_peak_is_that_of_the_batch(request_for):
    """128 MiB that the peer takes and gives back again show; what loading took does not."""
    found = in_a_process_of_its_own("-c", GREEDY, request_for("cpu", False))

    assert 120 <= (found["peak"] - found["loaded"]) / 2**20 <= 140
    assert (found["peak_of_loading"] - found["loaded"]) / 2**20 >= 240


def test_worker_refuses_what_does_not_fit(request_for, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda device: 1)

    with pytest.raises(PeerUnavailableError, match="needs about 0 GiB"):
        memory_worker.main(request_for("transcription", False))


@pytest.fixture
def measuring():
    files = WeightFiles()
    yield Memory(CASE, random_model("tiny", 0), 0, files, [[["a"], ["b"]], [["a", "b"], ["c"]]])
    files.close()


def test_parent_passes_the_largest_batch_on(measuring, monkeypatch):
    seen = {}

    def run(command, **options):
        seen["request"] = json.loads(command[-1])
        seen["ids"] = np.load(seen["request"]["ids"])
        return memory.subprocess.CompletedProcess(
            command, 0, 'noise\n{"loaded": 1, "peak": 3, "peak_of_loading": 2}\n', ""
        )

    monkeypatch.setattr(memory.subprocess, "run", run)

    found = measuring.measure("cpu", "float64")

    assert (found.case, found.name, found.precision) == (CASE, "cpu", "float64")
    assert (found.loaded, found.peak, found.peak_of_loading) == (1, 3, 2)
    assert seen["ids"].shape == (2, 2, 50)
    assert seen["request"]["peer"] == "cpu" and seen["request"]["threads"] == 1


@pytest.mark.parametrize(
    "code,stderr,message",
    [(1, "Traceback\nValueError: why\n", "ValueError: why"), (-9, "", r"ended with -9 \(out of memory")],
)
def test_process_that_ends_badly(measuring, monkeypatch, code, stderr, message):
    monkeypatch.setattr(
        memory.subprocess,
        "run",
        lambda command, **options: memory.subprocess.CompletedProcess(command, code, "", stderr),
    )

    with pytest.raises(PeerUnavailableError, match=message):
        measuring.measure("cpu", "float32")


@pytest.mark.slow
def test_parent_does_not_count(measuring):
    ballast = torch.ones(2**28)  # 1 GiB

    found = measuring.measure("cpu", "float32")

    assert found.peak < 2**28
    del ballast
