"""
The engine behind AllenNLP's own biLM module.

AllenNLP's module keeps its parameters, under its names; the engine reads them at each call. So the state dict, the
names that a configuration's regular expressions match, and what is trained stay as they are.
"""

from typing import Any, Dict, Mapping

import torch
from torch import nn

from elmo_plugin.engine.bilm import BiLm, BiLmOutput
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.tensor_table import check_tensors, expected_shapes
from elmo_plugin.formats.allennlp_names import BILM_PREFIX, from_allennlp

try:
    from torch.func import functional_call
except ImportError:  # before PyTorch 2.0
    from torch.nn.utils.stateless import functional_call  # type: ignore[assignment]


class StockEngine:
    """
    A biLM of the engine without weights of its own, for one `allennlp.modules.elmo._ElmoBiLm`.

    # Parameters

    stock : AllenNLP's module; not kept.

    # Raises

    `OptionsError` or `WeightFileError` where the engine would build another model than AllenNLP did.
    """

    def __init__(self, stock: nn.Module) -> None:
        options = options_of(stock)
        tensors = _tensors_of(stock)
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        check_tensors(shapes, expected_shapes(options), "AllenNLP's biLM")
        # The weights that are drawn here are never used, and must not move the random numbers of the task's dropout.
        with torch.random.fork_rng(devices=[]):
            self.bilm = BiLm(options, state="carried")
        for parameter in self.bilm.parameters():
            parameter.data = parameter.data.new_empty(0)
        self._frozen: Derived[Dict[str, torch.Tensor]] = Derived()

    def run(self, stock: nn.Module, ids: torch.Tensor) -> BiLmOutput:
        """
        Run the biLM with the parameters and the state of AllenNLP's module, and leave the new state there.

        # Parameters

        stock : AllenNLP's module.
        ids : `(batch, words, characters)`.
        """
        lstm: Any = stock._elmo_lstm
        boundaries = self.bilm.token_encoder.boundaries
        if boundaries.device != next(stock.parameters()).device:
            self.bilm.to(next(stock.parameters()).device)
        states = lstm._states if lstm.stateful else None
        self.bilm.carried = None if states is None else LstmState(*states)
        self.bilm.fine_tune = any(parameter.requires_grad for parameter in stock.parameters())
        output = functional_call(self.bilm, self._weights(stock), (ids,))
        carried = self.bilm.carried
        assert carried is not None
        lstm._states = (carried.hidden, carried.cell)
        self.bilm.reset_states()
        return output

    def _weights(self, stock: nn.Module) -> Dict[str, torch.Tensor]:
        if self.bilm.fine_tune:
            return _tensors_of(stock)
        with torch.no_grad():
            return self._frozen.get(lambda: _tensors_of(stock), list(stock.parameters()))


def options_of(stock: nn.Module) -> BiLmOptions:
    """
    The architecture of AllenNLP's module, without the keys of its options file that AllenNLP does not look at.

    # Parameters

    stock : an `allennlp.modules.elmo._ElmoBiLm`.
    """
    read: Mapping[str, Any] = stock._token_embedder._options  # type: ignore[union-attr,assignment]
    lstm, cnn = read["lstm"], read["char_cnn"]
    return BiLmOptions.from_dict(
        {
            "lstm": {
                **{key: lstm[key] for key in ("dim", "projection_dim", "n_layers", "cell_clip", "proj_clip")},
                "use_skip_connections": bool(lstm.get("use_skip_connections")),
            },
            "char_cnn": {
                "embedding": {"dim": cnn["embedding"]["dim"]},
                **{key: cnn[key] for key in ("filters", "n_highway", "activation", "max_characters_per_token")},
            },
        },
        source="options of AllenNLP's biLM",
    )


def _tensors_of(stock: nn.Module) -> Dict[str, torch.Tensor]:
    named = {BILM_PREFIX + name: parameter for name, parameter in stock.named_parameters()}
    return from_allennlp(named)
