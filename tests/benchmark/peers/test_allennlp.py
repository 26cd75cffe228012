import sys

import pytest
import torch

from elmo_plugin.benchmark import agreement
from elmo_plugin.benchmark.peers import PeerUnavailableError, Setting
from elmo_plugin.benchmark.peers.allennlp import AllenNlpPeer, import_elmo
from elmo_plugin.benchmark.peers.transcription import TranscriptionPeer
from elmo_plugin.benchmark.sizes import random_model
from elmo_plugin.engine.characters import batch_to_ids

IDS = batch_to_ids([["A", "small", "test", "."], ["Yes"]])


@pytest.fixture(autouse=True)
def allennlp():
    pytest.importorskip("allennlp")


def test_it_gives_the_vectors_of_its_transcription():
    setting = Setting(torch.device("cpu"), threads=1)
    model = random_model("tiny", 0)
    peer, truth = AllenNlpPeer(model, setting, "float32"), TranscriptionPeer(model, setting, "float64")
    mask = (IDS > 0).any(dim=2)

    expected = truth.layers(IDS)
    for _ in range(2):  # state is not carried over
        assert agreement.error(peer.layers(IDS), expected, mask) < 1e-6
        assert agreement.error(peer.vectors(IDS)[None], truth.vectors(IDS)[None], mask) < 1e-6
    setting.files.close()


def test_the_drop_in_is_not_taken_for_allennlp():
    from elmo_plugin import drop_in

    drop_in.install()
    try:
        with pytest.raises(PeerUnavailableError, match="come from elmo_plugin.drop_in; take the drop-in's line out"):
            import_elmo()
    finally:
        drop_in.uninstall()
    assert import_elmo().__name__ == "allennlp.modules.elmo"


def test_without_allennlp(monkeypatch):
    monkeypatch.setitem(sys.modules, "allennlp.modules", None)

    with pytest.raises(PeerUnavailableError, match="AllenNLP is not installed"):
        import_elmo()
