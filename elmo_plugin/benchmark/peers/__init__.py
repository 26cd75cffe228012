"""The peers by name. A new one is one line in `_OTHERS` and one module beside this."""

from typing import Dict, List

from elmo_plugin.benchmark.peers import engine
from elmo_plugin.benchmark.peers.allennlp import AllenNlpPeer
from elmo_plugin.benchmark.peers.base import Entry, Peer, PeerUnavailableError, Setting, WeightFiles
from elmo_plugin.benchmark.peers.bilm_tf import BilmTfPeer
from elmo_plugin.benchmark.peers.torch_lstm import TorchLstmPeer
from elmo_plugin.benchmark.peers.transcription import TranscriptionPeer

#: what the ratios are taken to: the first of these that can run
BASELINES = ("allennlp", "transcription")

_OTHERS: Dict[str, Entry] = {
    "allennlp": Entry(AllenNlpPeer),
    "transcription": Entry(TranscriptionPeer),
    "torch-lstm": Entry(TorchLstmPeer),
    "bilm-tf": Entry(BilmTfPeer),
}


def entries() -> Dict[str, Entry]:
    """All peers: the backends of this engine first."""
    ours = {name: Entry(engine.builder(name), is_ours=True) for name in engine.names()}
    return {**ours, **_OTHERS}


def names() -> List[str]:
    """The names that can be asked for."""
    return list(entries())


__all__ = ["BASELINES", "Entry", "Peer", "PeerUnavailableError", "Setting", "WeightFiles", "entries", "names"]
