"""This engine with one of its backends."""

from typing import Callable

import torch

from elmo_plugin.benchmark.peers.base import DTYPES, Peer, PeerUnavailableError, Setting
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.engine import backends
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.elmo import Elmo
from elmo_plugin.engine.errors import BackendUnavailableError


class EnginePeer(Peer):
    """`elmo_plugin.engine.Elmo` with one mix."""

    def __init__(self, backend: str, model: Model, setting: Setting, precision: str) -> None:
        super().__init__(backend if precision == "float32" else f"{backend} {precision}", precision, setting.device)
        try:
            if not backends.get(backend).supports(setting.device):
                raise PeerUnavailableError(f"does not run on {setting.device}")
        except BackendUnavailableError as error:
            raise PeerUnavailableError(str(error)) from error
        bilm = BiLm(model.options, backend=backend, state="reset")
        bilm.load_tensors(model.tensors, model.size)
        self._elmo = Elmo(bilm).to(setting.device, DTYPES[precision]).eval()

    @torch.no_grad()
    def layers(self, prepared: torch.Tensor) -> torch.Tensor:
        return self._elmo.raw_layers(prepared).layers

    @torch.no_grad()
    def vectors(self, prepared: torch.Tensor) -> torch.Tensor:
        return self._elmo(prepared).representations[0]


def builder(backend: str) -> Callable[[Model, Setting, str], Peer]:
    """Return what builds the engine with that backend."""

    def build(model: Model, setting: Setting, precision: str) -> Peer:
        return EnginePeer(backend, model, setting, precision)

    return build
