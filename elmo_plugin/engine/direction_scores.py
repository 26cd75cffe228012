"""What a language model is measured by: losses and counts of both directions, summed over tokens."""

import math
from typing import Dict, List

import torch

DIRECTIONS = ("forward", "backward")


class DirectionScores:
    """
    Sums over all tokens since the last reset, in float64, so that every token counts the same in whatever batch.

    # Parameters

    unknown : index of the unknown word among the targets.
    """

    def __init__(self, unknown: int) -> None:
        self._unknown = unknown
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        #: [summed loss, tokens, unknown tokens] x [forward, backward]
        self.sums = torch.zeros(3, 2, dtype=torch.float64)

    def add(self, losses: torch.Tensor, targets: torch.Tensor) -> None:
        """
        Count a batch.

        # Parameters

        losses : `(2, tokens)` in nats, 0 where ignored.
        targets : `(2, tokens)`, negative where ignored.
        """
        parts = [losses.sum(1, dtype=torch.float64), (targets >= 0).sum(1), (targets == self._unknown).sum(1)]
        self.sums += torch.stack([part.double() for part in parts]).cpu()

    def losses(self, kind: str) -> Dict[str, float]:
        """Mean losses per token as `KIND_forward` and `KIND_backward`."""
        return {f"{kind}_{name}": mean for name, mean in zip(DIRECTIONS, self._means())}

    def perplexities(self) -> Dict[str, float]:
        """Exponentials of the mean losses, `perplexity` that of the mean of both directions."""
        means = self._means()
        metrics = {f"perplexity_{name}": bounded_exp(mean) for name, mean in zip(DIRECTIONS, means)}
        metrics["perplexity"] = bounded_exp(sum(means) / 2)
        return metrics

    def counts(self) -> Dict[str, float]:
        """How many tokens the forward direction predicted, and which share of them are unknown words."""
        tokens, unknown = self.sums[1:, 0].tolist()
        return {"tokens": tokens, "unknown_rate": unknown / max(1.0, tokens)}

    def _means(self) -> List[float]:
        return (self.sums[0] / self.sums[1].clamp(min=1)).tolist()


def bounded_exp(loss: float) -> float:
    """The perplexity of a mean loss in nats; infinite where it is no float64."""
    return math.exp(loss) if loss < 700 else math.inf
