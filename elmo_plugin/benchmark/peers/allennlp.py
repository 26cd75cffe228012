"""AllenNLP's own `Elmo`."""

from typing import Any

import torch

from elmo_plugin.benchmark.peers.base import Peer, PeerUnavailableError, Setting, stock_memory
from elmo_plugin.benchmark.sizes import Model


class AllenNlpPeer(Peer):
    """`allennlp.modules.elmo.Elmo` with one mix and no dropout."""

    def __init__(self, model: Model, setting: Setting, precision: str) -> None:
        super().__init__("allennlp", precision, setting.device)
        elmo = import_elmo()
        options_file, weight_file = setting.files.of(model)
        self._elmo: Any = elmo.Elmo(str(options_file), str(weight_file), num_output_representations=1, dropout=0.0)
        self._elmo.to(setting.device).eval()
        self._without_boundaries = elmo.remove_sentence_boundaries
        self._model = model

    @torch.no_grad()
    def layers(self, prepared: torch.Tensor) -> torch.Tensor:
        self._reset()
        output = self._elmo._elmo_lstm(prepared)
        layers = [self._without_boundaries(layer, output["mask"])[0] for layer in output["activations"]]
        return torch.stack(layers)

    @torch.no_grad()
    def vectors(self, prepared: torch.Tensor) -> torch.Tensor:
        self._reset()
        return self._elmo(prepared)["elmo_representations"][0]

    def _reset(self) -> None:
        """AllenNLP carries its state from call to call."""
        self._elmo._elmo_lstm._elmo_lstm.reset_states()

    def memory_needed(self, ids: torch.Tensor) -> int:
        return stock_memory(self._model, ids, self.precision)


def import_elmo() -> Any:
    """
    Return the module `allennlp.modules.elmo`.

    # Raises

    `PeerUnavailableError` where it is not installed, or where this package's drop-in has taken its place.
    """
    try:
        from allennlp.modules import elmo
    except ImportError as error:
        raise PeerUnavailableError(f"AllenNLP is not installed ({error})") from error
    if elmo.batch_to_ids.__module__ != elmo.__name__:
        raise PeerUnavailableError(
            f"its functions come from {elmo.batch_to_ids.__module__}; take the drop-in's line out of .allennlp_plugins"
        )
    return elmo
