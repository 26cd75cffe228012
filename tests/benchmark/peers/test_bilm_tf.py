"""This side of the pipe, with a stand-in for the other side: bilm-tf has an environment of its own."""

import sys
from pathlib import Path

import pytest
import torch

from elmo_plugin.benchmark.peers import PeerUnavailableError, Setting, bilm_tf
from elmo_plugin.benchmark.peers.bilm_tf import BilmTfPeer
from elmo_plugin.benchmark.sizes import random_model
from elmo_plugin.engine.characters import batch_to_ids

CPU = torch.device("cpu")
PYTHON = Path(sys.executable)
IDS = batch_to_ids([["A", "test"], ["Yes", "!"]])

WORKER = """
import json, sys, numpy
for line in sys.stdin:
    request = json.loads(line)
    do = request["do"]
    if do == "load":
        assert json.load(open(request["options"]))["lstm"]["dim"] == 24 and request["threads"] == 2
        answer = {"ok": "1.15.5"}
    elif do == "prepare":
        ids = numpy.load(request["ids"])
        answer = {"ok": None}
    elif do == "time":
        answer = {"ok": 0.25}
    else:
        numpy.save(request["target"], ids[:, 1:-1].astype("float32"))
        answer = {"ok": None}
    if FAULT == do:
        answer = {"error": "ValueError: no good"}
    if FAULT == "end":
        sys.exit(3)
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    built = []

    def make(fault=None, python=PYTHON):
        worker = tmp_path / "worker.py"
        worker.write_text(f"FAULT = {fault!r}\n{WORKER}")
        monkeypatch.setattr(bilm_tf, "WORKER", worker)
        built.append(BilmTfPeer(random_model("tiny", 0), Setting(CPU, 2, python), "float32"))
        return built[-1]

    yield make
    for peer in built:
        peer.close()


def test_batches_go_over_and_layers_come_back(build):
    peer = build()
    prepared = peer.prepare(IDS)

    assert torch.equal(peer.layers(prepared), IDS.float())
    assert torch.equal(peer.vectors(prepared), IDS.float())
    assert peer.seconds(prepared) == 0.25


@pytest.mark.parametrize(
    "fault,message",
    [("load", "load: ValueError: no good"), ("end", "its process ended during 'load'")],
)
def test_worker_that_cannot_load(build, fault, message):
    with pytest.raises(PeerUnavailableError, match=message):
        build(fault)


def test_worker_that_fails_later(build):
    peer = build("layers")
    prepared = peer.prepare(IDS)

    with pytest.raises(PeerUnavailableError, match="layers: ValueError: no good"):
        peer.layers(prepared)


@pytest.mark.parametrize(
    "setting,message",
    [
        (Setting(CPU, 1), "give its interpreter by --bilm-tf"),
        (Setting(CPU, 1, Path("/no/such/python")), "/no/such/python cannot be run"),
        (Setting(torch.device("meta"), 1, PYTHON), "CPU only"),
    ],
)
def test_not_here(setting, message):
    with pytest.raises(PeerUnavailableError, match=message):
        BilmTfPeer(random_model("tiny", 0), setting, "float32")


def test_without_a_checkout(monkeypatch):
    monkeypatch.setattr(bilm_tf, "WORKER", Path("/no/such/worker.py"))

    with pytest.raises(PeerUnavailableError, match="needs a checkout"):
        BilmTfPeer(random_model("tiny", 0), Setting(CPU, 1, PYTHON), "float32")


def test_the_worker_is_where_it_is_looked_for():
    assert bilm_tf.WORKER.exists()
