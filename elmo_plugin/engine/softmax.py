"""
The language model's softmax: exact over all words, or sampled for training.

Both compute the loss and all gradients in one pass over chunks of tokens, so the `(tokens, words)` scores never exist
as a whole: memory is bounded by `CHUNK_BYTES`, or by the scores of 64 tokens where these take more, and a training step
costs three matrix products.
"""

import math
from typing import Any, NamedTuple, Optional, Tuple

import torch
from torch import nn

from elmo_plugin.engine.autocast import outside_autocast
from elmo_plugin.engine.errors import OptionsError, ShapeError
from elmo_plugin.engine.log_uniform import LogUniformSampler

CHUNK_BYTES = 8 * 2**20
"""Memory for the scores of one chunk of tokens, if 64 of them do not take more."""


class SoftmaxLoss(NamedTuple):
    """Cross-entropies in nats of the tokens whose target is not negative (ignored)."""

    total: torch.Tensor
    """`()`: sum over tokens, each times its weight; carries the gradient."""
    per_token: torch.Tensor
    """`(tokens,)`: unweighted, no gradient, 0 where ignored."""


class LanguageModelSoftmax(nn.Module):
    """
    Scores of all words of the vocabulary: `hidden @ weight.T + bias`, shared by both directions. They are computed in
    the dtype of the weights, also inside autocast: half precision would make other losses and perplexities of them.

    # Parameters

    n_words, dim : shape of `weight`.
    n_samples : negative samples of the sampled softmax; `None` when only the full softmax is used.
    """

    def __init__(self, n_words: int, dim: int, n_samples: Optional[int] = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_words, dim))
        self.bias = nn.Parameter(torch.empty(n_words))
        self.sampler = None if n_samples is None else LogUniformSampler(n_words, n_samples)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise as bilm-tf: weight N(0, 1/dim), bias 0."""
        nn.init.normal_(self.weight, std=1.0 / math.sqrt(self.weight.shape[1]))
        nn.init.zeros_(self.bias)

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
        hidden, targets, token_weights, kept = self._select(hidden, targets, token_weights)
        with_gradients = torch.is_grad_enabled() and (hidden.requires_grad or self.weight.requires_grad)
        with outside_autocast(hidden.device):
            total, losses = _FullSoftmax.apply(hidden, self.weight, self.bias, targets, token_weights, with_gradients)
        return SoftmaxLoss(total, _scatter(losses, kept))

    def sampled(
        self,
        hidden: torch.Tensor,
        targets: torch.Tensor,
        token_weights: Optional[torch.Tensor] = None,
        sample: Optional[Tuple[torch.Tensor, int]] = None,
    ) -> SoftmaxLoss:
        """
        Cross-entropy against one shared sample of negatives, corrected for its expected counts.

        As `tf.nn.sampled_softmax_loss`: the logarithm of the expected count is subtracted from every score, and a
        token's own target is removed from its negatives. Not a perplexity: it is a biased estimate of the full loss.
        bilm-tf draws one sample per direction; here tokens of both directions come in one call and share the sample.

        # Parameters

        sample : distinct words `(samples,)` and the number of draws; drawn with torch's generator when `None`.
        """
        if self.sampler is None:
            raise OptionsError("sampled softmax: the softmax was built with n_samples=None; give a number of samples.")
        hidden, targets, token_weights, kept = self._select(hidden, targets, token_weights)
        negatives, n_draws = self.sampler.sample(hidden.device) if sample is None else sample
        counts = self.sampler.log_expected_count
        with_gradients = torch.is_grad_enabled() and (hidden.requires_grad or self.weight.requires_grad)
        with outside_autocast(hidden.device):
            total, losses = _SampledSoftmax.apply(
                hidden,
                self.weight,
                self.bias,
                targets,
                token_weights,
                negatives,
                counts(targets, n_draws, hidden.dtype),
                counts(negatives, n_draws, hidden.dtype),
                with_gradients,
            )
        return SoftmaxLoss(total, _scatter(losses, kept))

    def _select(
        self, hidden: torch.Tensor, targets: torch.Tensor, token_weights: Optional[torch.Tensor]
    ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Drop ignored tokens, and take the dtype of the weights."""
        n_words, dim = self.weight.shape
        if hidden.dim() != 2 or hidden.shape[1] != dim or targets.shape != hidden.shape[:1]:
            raise ShapeError(
                f"softmax: hidden {tuple(hidden.shape)} and targets {tuple(targets.shape)}, expected (tokens, {dim}) "
                "and (tokens,)."
            )
        hidden = hidden.to(self.weight.dtype)
        kept = targets >= 0
        if targets.numel() and int(targets.max()) >= n_words:
            raise ShapeError(f"softmax: target {int(targets.max())} in a vocabulary of {n_words} words.")
        if token_weights is None:
            token_weights = torch.ones_like(targets, dtype=hidden.dtype)
        if not bool(kept.all()):
            hidden, targets, token_weights = hidden[kept], targets[kept], token_weights[kept]
        return hidden, targets, token_weights.to(hidden.dtype), kept


def _scatter(losses: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    return losses.new_zeros(kept.shape).masked_scatter_(kept, losses)


def _chunks(n_tokens: int, n_columns: int, element_size: int) -> Tuple[Tuple[int, int], ...]:
    step = max(64, CHUNK_BYTES // max(1, n_columns * element_size))
    return tuple((start, min(start + step, n_tokens)) for start in range(0, n_tokens, step))


class _FullSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        targets: torch.Tensor,
        token_weights: torch.Tensor,
        with_gradients: bool,
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        losses = hidden.new_empty(len(targets))
        gradients = tuple(torch.zeros_like(tensor) for tensor in (hidden, weight, bias)) if with_gradients else None
        for start, stop in _chunks(len(targets), len(weight), hidden.element_size()):
            chunk, target = hidden[start:stop], targets[start:stop].unsqueeze(1)
            scores = torch.addmm(bias, chunk, weight.t())  # (chunk, words)
            scores -= scores.amax(1, keepdim=True)
            true = scores.gather(1, target).squeeze(1)
            total = scores.exp_().sum(1)
            losses[start:stop] = total.log() - true
            if gradients is not None:
                scale = token_weights[start:stop]
                scores *= (scale / total).unsqueeze(1)
                scores.scatter_add_(1, target, -scale.unsqueeze(1))
                torch.mm(scores, weight, out=gradients[0][start:stop])
                gradients[1].addmm_(scores.t(), chunk)
                gradients[2].add_(scores.sum(0))
        if gradients is not None:
            ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(losses)
        return (losses * token_weights).sum(), losses

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_total: torch.Tensor, _: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        hidden, weight, bias = ctx.saved_tensors
        return hidden * grad_total, weight * grad_total, bias * grad_total, None, None, None


class _SampledSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        targets: torch.Tensor,
        token_weights: torch.Tensor,
        negatives: torch.Tensor,
        target_counts: torch.Tensor,
        negative_counts: torch.Tensor,
        with_gradients: bool,
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        negative_weight = weight[negatives]  # (samples, dim)
        negative_bias = bias[negatives] - negative_counts
        target_weight = weight[targets]  # (tokens, dim)
        true_scores = (hidden * target_weight).sum(1) + bias[targets] - target_counts
        column = torch.full((len(weight),), -1, dtype=torch.long, device=weight.device)
        column[negatives] = torch.arange(len(negatives), device=weight.device)
        hits = column[targets]  # the column of each token's own target among the negatives, or -1
        losses = hidden.new_empty(len(targets))
        hidden_gradient = torch.empty_like(hidden)
        negative_gradient = torch.zeros_like(negative_weight)
        negative_bias_gradient = torch.zeros_like(negative_bias)
        true_gradient = torch.empty_like(true_scores)
        for start, stop in _chunks(len(targets), len(negatives), hidden.element_size()):
            chunk, true = hidden[start:stop], true_scores[start:stop]
            scores = torch.addmm(negative_bias, chunk, negative_weight.t())  # (chunk, samples)
            rows = (hits[start:stop] >= 0).nonzero().squeeze(1)
            scores[rows, hits[start:stop][rows]] = -math.inf
            highest = torch.maximum(scores.amax(1), true)
            scores -= highest.unsqueeze(1)
            true = true - highest
            total = scores.exp_().sum(1) + true.exp()
            losses[start:stop] = total.log() - true
            if with_gradients:
                scale = token_weights[start:stop]
                scores *= (scale / total).unsqueeze(1)
                torch.mm(scores, negative_weight, out=hidden_gradient[start:stop])
                negative_gradient.addmm_(scores.t(), chunk)
                negative_bias_gradient.add_(scores.sum(0))
                true_gradient[start:stop] = scale * (true.exp() / total - 1)
        if with_gradients:
            hidden_gradient.addcmul_(true_gradient.unsqueeze(1), target_weight)
            ctx.save_for_backward(
                hidden,
                hidden_gradient,
                negative_gradient,
                negative_bias_gradient,
                true_gradient,
                targets,
                negatives,
            )
            ctx.n_words = len(weight)
        ctx.mark_non_differentiable(losses)
        return (losses * token_weights).sum(), losses

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_total: torch.Tensor, _: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        hidden, hidden_gradient, negative_gradient, negative_bias, true, targets, negatives = ctx.saved_tensors
        true = true * grad_total
        weight = hidden.new_zeros(ctx.n_words, hidden.shape[1])
        weight.index_copy_(0, negatives, negative_gradient * grad_total)
        weight.index_add_(0, targets, true.unsqueeze(1) * hidden)
        bias = hidden.new_zeros(ctx.n_words)
        bias.index_copy_(0, negatives, negative_bias * grad_total)
        bias.index_add_(0, targets, true)
        return (hidden_gradient * grad_total, weight, bias) + (None,) * 6
