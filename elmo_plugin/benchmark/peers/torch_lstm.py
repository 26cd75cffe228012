"""`torch.nn.LSTM` with projections. It has no clips: not ELMo's function, shown for what stock PyTorch could reach."""

from typing import List

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from elmo_plugin.benchmark.peers.base import Peer, Setting
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.benchmark.transcription import with_boundaries, without_boundaries
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.packing import Packing


class TorchLstmPeer(Peer):
    """
    The engine's token layer, then one `torch.nn.LSTM` for each layer and direction; on a GPU that is cuDNN.

    Rows are packed without padding; the backward direction gets them turned around.
    """

    same_function = False

    def __init__(self, model: Model, setting: Setting, precision: str) -> None:
        super().__init__("torch.nn.LSTM", precision, setting.device)
        self._options = model.options.lstm
        bilm = BiLm(model.options, state="reset")
        bilm.load_tensors(model.tensors, model.size)
        self._encoder = bilm.token_encoder.to(setting.device)
        self._backend = bilm.lstm.backend_for(setting.device)  # of the token layer
        self._stacks = [self._stack(model, direction) for direction in ("forward", "backward")]

    def _stack(self, model: Model, direction: str) -> List[nn.LSTM]:
        stack = []
        for index in range(self._options.n_layers):
            prefix = f"lstm.{direction}_layers.{index}."
            projection = self._options.projection_dim if self._options.has_projection else 0
            layer = nn.LSTM(self._options.projection_dim, self._options.dim, proj_size=projection)
            names = {"weight_ih_l0": "input_weight", "weight_hh_l0": "recurrent_weight", "bias_ih_l0": "bias"}
            if projection:
                names["weight_hr_l0"] = "projection_weight"
            parameters = dict(layer.named_parameters())
            with torch.no_grad():
                parameters["bias_hh_l0"].zero_()
                for theirs, ours in names.items():
                    parameters[theirs].copy_(model.tensors[prefix + ours])
            stack.append(layer.to(self.device).eval())
        return stack

    @torch.no_grad()
    def layers(self, prepared: torch.Tensor) -> torch.Tensor:
        bounded, lengths = with_boundaries(prepared)
        packing = Packing(lengths.tolist(), self.device)
        around = _turned_around(packing, lengths)
        words = self._encoder(packing.pack(bounded), backend=self._backend)  # (tokens, projection)
        found = [torch.cat([words, words], dim=1)]
        inputs = [words, words[around]]
        sizes = torch.tensor(packing.sizes)
        for index in range(self._options.n_layers):
            outputs = [self._stacks[side][index](PackedSequence(inputs[side], sizes))[0].data for side in (0, 1)]
            if self._options.use_skip_connections and index > 0:
                outputs = [outputs[0] + inputs[0], outputs[1] + inputs[1]]
            found.append(torch.cat([outputs[0], outputs[1][around]], dim=1))
            inputs = outputs
        batch, steps = bounded.shape[:2]
        return without_boundaries(torch.stack([packing.unpack(layer, batch, steps) for layer in found]), lengths)

    def vectors(self, prepared: torch.Tensor) -> torch.Tensor:
        return self.layers(prepared).mean(dim=0)


def _turned_around(packing: Packing, lengths: torch.Tensor) -> torch.Tensor:
    """For each packed token the place of the token as far from the other end of its row, `(tokens,)`."""
    row, step = packing.places
    place = torch.zeros((len(lengths), packing.steps), dtype=torch.int64, device=row.device)
    place[row, step] = torch.arange(packing.tokens, device=row.device)
    return place[row, lengths[row] - 1 - step]
