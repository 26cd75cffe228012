"""Adaptive softmax (Grave et al. 2017): rare words in clusters of narrower vectors, exact and cheap for many words."""

from typing import List, Optional

import torch
from torch import nn

from elmo_plugin.engine.autocast import outside_autocast
from elmo_plugin.engine.errors import OptionsError, ShapeError
from elmo_plugin.engine.softmax import SoftmaxLoss


class AdaptiveSoftmax(nn.Module):
    """
    Log-probabilities of a vocabulary that is sorted by falling frequency, by `torch.nn.AdaptiveLogSoftmaxWithLoss`.

    The same interface as `LanguageModelSoftmax.full`. It has no weight matrix over all words, so that it can be written
    to no weight file of bilm-tf's layout.

    # Parameters

    n_words, dim : size of the vocabulary, width of its input.
    cutoffs : where the clusters begin, ascending: the words in front of the first one are in the head.
    """

    def __init__(self, n_words: int, dim: int, cutoffs: List[int]) -> None:
        super().__init__()
        if not cutoffs or sorted(set(cutoffs)) != list(cutoffs) or cutoffs[0] < 1 or cutoffs[-1] >= n_words:
            raise OptionsError(
                f"adaptive softmax: the cutoffs are {cutoffs}, expected ascending numbers from 1 to {n_words - 1}, one "
                "less than the words of the vocabulary."
            )
        # Each cluster is narrower by this factor; the last one must keep a dimension, whatever rounding does.
        div_value = min(4.0, (0.999 * dim) ** (1.0 / len(cutoffs)))
        self.model = nn.AdaptiveLogSoftmaxWithLoss(dim, n_words, cutoffs, div_value=div_value, head_bias=True)

    def full(
        self, hidden: torch.Tensor, targets: torch.Tensor, token_weights: Optional[torch.Tensor] = None
    ) -> SoftmaxLoss:
        """
        Exact cross-entropy.

        # Parameters

        hidden : `(tokens, dim)`.
        targets : `(tokens,)` int64; negative is ignored.
        token_weights : `(tokens,)`, constants that weight each token in `total`; 1 when `None`.
        """
        dim = self.model.in_features
        if hidden.dim() != 2 or hidden.shape[1] != dim or targets.shape != hidden.shape[:1]:
            raise ShapeError(
                f"softmax: hidden {tuple(hidden.shape)} and targets {tuple(targets.shape)}, expected (tokens, {dim}) "
                "and (tokens,)."
            )
        kept = targets >= 0
        if not bool(kept.any()):
            nothing = (hidden * 0).sum() + self._zero()
            return SoftmaxLoss(nothing, torch.zeros_like(targets, dtype=hidden.dtype))
        with outside_autocast(hidden.device):
            losses = -self.model(hidden[kept].to(self.model.head.weight.dtype), targets[kept]).output
        weighted = losses if token_weights is None else losses * token_weights[kept].to(losses.dtype)
        per_token = losses.new_zeros(kept.shape).masked_scatter_(kept, losses.detach())
        return SoftmaxLoss(weighted.sum() + self._zero(), per_token)

    def _zero(self) -> torch.Tensor:
        """
        Zero, of which each parameter has a gradient of zeros: torch's module leaves out the clusters without a target,
        but all processes of a distributed training must have the same gradients, and an optimiser must see them.
        """
        return 0 * torch.stack([parameter.flatten()[0] for parameter in self.parameters()]).sum()
