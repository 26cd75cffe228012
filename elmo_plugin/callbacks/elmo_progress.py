"""How far the training of a language model is, how fast, and how long it will take."""

import logging
import time
from datetime import timedelta
from typing import Any, Dict, List, Optional

import torch
from allennlp.common.util import format_size
from allennlp.data import TensorDict
from allennlp.training.callbacks import TrainerCallback
from overrides import overrides
from torch import nn

logger = logging.getLogger(__name__)


@TrainerCallback.register("elmo_progress")
class ElmoProgress(TrainerCallback):
    """
    Log a line every now and then: place, tokens per second, time left for all epochs, the losses of both directions.

    At the start it says how much memory the weights, their gradients and an optimiser of two moments will take.

    # Parameters

    every_seconds : between two lines.

    Registered as "elmo_progress".
    """

    def __init__(self, serialization_dir: str, every_seconds: float = 60.0) -> None:
        super().__init__(serialization_dir)
        self._every_seconds = every_seconds
        self._begun: Optional[float] = None
        self._logged = 0.0
        self._batches = 0
        self._tokens = 0

    @overrides
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if is_primary:
            logger.info(memory_estimate(trainer.model))

    @overrides
    def on_batch(
        self,
        trainer: Any,
        batch_inputs: List[TensorDict],
        batch_outputs: List[Dict[str, Any]],
        batch_metrics: Dict[str, Any],
        epoch: int,
        batch_number: int,
        is_training: bool,
        is_primary: bool = True,
        batch_grad_norm: Optional[float] = None,
        **kwargs: Any,
    ) -> None:
        if not (is_training and is_primary):
            return
        now = time.monotonic()
        if self._begun is None:  # the first batch is not timed: what is made only once is made in it
            self._begun = self._logged = now
            return
        self._batches += 1
        self._tokens += sum(_tokens(batch) for batch in batch_inputs)
        if now - self._logged >= self._every_seconds:
            self._logged = now
            logger.info(self._line(trainer, batch_metrics, epoch, batch_number, now - self._begun))

    def _line(self, trainer: Any, metrics: Dict[str, Any], epoch: int, batch: int, seconds: float) -> str:
        batches = -(-len(trainer.data_loader) // trainer._num_gradient_accumulation_steps)
        left = (trainer._num_epochs - epoch) * batches - batch
        losses = [f"{name} {value:.4f}" for name, value in metrics.items() if name.endswith(("_forward", "_backward"))]
        return (
            f"epoch {epoch + 1} of {trainer._num_epochs}, batch {batch:,} of {batches:,}: "
            f"{self._tokens / seconds:,.0f} tokens/s in each process, "
            f"{timedelta(seconds=round(left * seconds / self._batches))} left, {', '.join(losses)}"
        )


def memory_estimate(model: nn.Module) -> str:
    """Say how much memory training takes, without activations, which grow with the batch."""
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    trained = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    return (
        f"memory: {format_size(weights)} for the weights, {format_size(trained)} for gradients, up to "
        f"{format_size(2 * trained)} for the optimiser; activations grow with batch_size * unroll_steps"
    )


def _tokens(batch: TensorDict) -> int:
    targets = batch.get("forward_targets")
    return int((targets >= 0).sum()) if isinstance(targets, torch.Tensor) else 0
