"""The plain loop of `elmo_plugin.benchmark.transcription` as a peer."""

import torch

from elmo_plugin.benchmark.peers.base import DTYPES, Peer, Setting, stock_memory
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.benchmark.transcription import Transcription


class TranscriptionPeer(Peer):
    """What AllenNLP does, without AllenNLP."""

    def __init__(self, model: Model, setting: Setting, precision: str) -> None:
        super().__init__("transcription", precision, setting.device)
        self._model = model
        self._bilm = Transcription(model.options, model.tensors, DTYPES[precision], setting.device)

    def layers(self, prepared: torch.Tensor) -> torch.Tensor:
        return self._bilm.layers(prepared)

    def vectors(self, prepared: torch.Tensor) -> torch.Tensor:
        return self.layers(prepared).mean(dim=0)

    def memory_needed(self, ids: torch.Tensor) -> int:
        return stock_memory(self._model, ids, self.precision)
