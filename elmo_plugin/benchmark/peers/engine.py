"""This engine with one of its backends."""

from typing import Callable, List

import torch

from elmo_plugin.benchmark.peers.base import DTYPES, Peer, PeerUnavailableError, Setting
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.engine import backends
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.elmo import Elmo
from elmo_plugin.engine.errors import BackendUnavailableError
from elmo_plugin.engine.word_cache import MEGABYTES

#: behind the name of a backend: with the vectors of words kept from call to call
WORDS = "+words"


class EnginePeer(Peer):
    """
    `elmo_plugin.engine.Elmo` with one mix.

    Without a word cache, unless its name asks for one: of text that is run again and again it would know every word.
    That is what is timed with one.
    """

    def __init__(self, name: str, model: Model, setting: Setting, precision: str) -> None:
        super().__init__(name if precision == "float32" else f"{name} {precision}", precision, setting.device)
        backend = name.replace(WORDS, "")
        megabytes = MEGABYTES if name.endswith(WORDS) else 0.0
        try:
            if not backends.get(backend).supports(setting.device):
                raise PeerUnavailableError(f"does not run on {setting.device}")
            products = "float32" if precision in DTYPES else precision
            bilm = BiLm(model.options, backend=backend, state="reset", precision=products, word_cache=megabytes)
        except BackendUnavailableError as error:
            raise PeerUnavailableError(str(error)) from error
        if precision not in DTYPES:
            self.rounding = backends.get(backend).rounding(precision)
        bilm.load_tensors(model.tensors, model.size)
        self._elmo = Elmo(bilm).to(setting.device, DTYPES.get(precision, torch.float32)).eval()

    @torch.no_grad()
    def layers(self, prepared: torch.Tensor) -> torch.Tensor:
        return self._elmo.raw_layers(prepared).layers

    @torch.no_grad()
    def vectors(self, prepared: torch.Tensor) -> torch.Tensor:
        return self._elmo(prepared).representations[0]


def names() -> List[str]:
    """The backends; those that are there to be fast also with a word cache."""
    fast = [name for name in backends.names() if name != "reference"]
    return backends.names() + [name + WORDS for name in fast]


def builder(name: str) -> Callable[[Model, Setting, str], Peer]:
    """Return what builds the engine, by a name of `names`."""

    def build(model: Model, setting: Setting, precision: str) -> Peer:
        return EnginePeer(name, model, setting, precision)

    return build
