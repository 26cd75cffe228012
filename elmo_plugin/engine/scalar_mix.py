"""
The task-specific mix of the biLM's layers: Peters et al. (2018), equation 1.

    ELMo = gamma * sum_j softmax(s)_j * h_j

Which layers take part, where s starts and whether s trains are choices apart from gamma.
"""

from typing import List, Optional, Sequence

import torch
from torch import nn

from elmo_plugin.engine.errors import OptionsError, ShapeError

LAYER_NORMS = ("none", "batch", "token")


class ScalarMix(nn.Module):
    """
    Weight layers into one vector per token.

    # Parameters

    num_layers : layers that are mixed.
    layer_norm : "none"; "batch", the form of the paper's code, one mean and one variance over all tokens of a
        batch, so that a token's vector depends on the rest of the batch; or "token", over each token's own vector.
    initial_weights : s before the softmax, one number per layer; None for zeros, which is the average.
    train_weights : train s.
    train_gamma : train gamma.
    """

    def __init__(
        self,
        num_layers: int,
        layer_norm: str = "none",
        initial_weights: Optional[Sequence[float]] = None,
        train_weights: bool = True,
        train_gamma: bool = True,
    ) -> None:
        super().__init__()
        if layer_norm not in LAYER_NORMS:
            raise OptionsError(f"unknown layer_norm {layer_norm!r}; choose one of {list(LAYER_NORMS)}.")
        start = [0.0] * num_layers if initial_weights is None else list(initial_weights)
        if len(start) != num_layers:
            raise OptionsError(
                f"initial weights of the mix are {start}, expected {num_layers} numbers, one for each mixed layer."
            )
        self._layer_norm = layer_norm
        self.weights = nn.Parameter(torch.tensor(start, dtype=torch.get_default_dtype()), requires_grad=train_weights)
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=train_gamma)

    def normalised_weights(self) -> torch.Tensor:
        """softmax(s), `(layers,)`: the share of each layer."""
        return torch.softmax(self.weights, dim=0)

    def forward(self, layers: Sequence[torch.Tensor]) -> torch.Tensor:
        """
        Mix packed layers.

        # Parameters

        layers : `(tokens, dim)` each; no padding, sentence boundaries included.

        # Returns

        `(tokens, dim)`.
        """
        if len(layers) != self.weights.shape[0]:
            raise ShapeError(f"{len(layers)} layers were given to a mix of {self.weights.shape[0]}.")
        if self._layer_norm != "none":
            layers = [_normalise(layer, per_token=self._layer_norm == "token") for layer in layers]
        shares = self.normalised_weights()
        pieces: List[torch.Tensor] = [share * layer for share, layer in zip(shares, layers)]
        return self.gamma * sum(pieces[1:], pieces[0])


def _normalise(layer: torch.Tensor, per_token: bool) -> torch.Tensor:
    if per_token:
        mean = layer.mean(dim=1, keepdim=True)
        variance = ((layer - mean) ** 2).mean(dim=1, keepdim=True)
    else:
        mean = layer.mean()
        variance = ((layer - mean) ** 2).mean()
    # AllenNLP's smallest divisor: it only matters where a layer is constant.
    tiny = 1e-4 if layer.dtype == torch.float16 else 1e-13
    return (layer - mean) / torch.sqrt(variance + tiny)
