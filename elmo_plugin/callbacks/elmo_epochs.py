"""A line for each epoch: how far a training is, and how well it does."""

from typing import Any, Dict, List, Tuple

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides
from tqdm import tqdm


@TrainerCallback.register("elmo_epochs")
class ElmoEpochs(TrainerCallback):
    """
    Print a line behind each epoch: which of how many, what it scores on the development part, what the best one did.

    AllenNLP prints bars without either. It also prints behind which epoch a training that was killed goes on; the time
    is that of all its parts where the callback `elmo_resume` stands in front of this one.

    Registered as "elmo_epochs".
    """

    @overrides
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if is_primary and trainer._start_after_epochs_completed > 0:
            tqdm.write(f"goes on behind epoch {trainer._start_after_epochs_completed}")

    @overrides
    def on_epoch(
        self,
        trainer: Any,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if not is_primary:
            return
        # Each has a sign, of whether the larger or the smaller one is better, and a name.
        tracked: List[Tuple[float, str]] = trainer._metric_tracker.tracked_metrics
        scores = [_scores(metrics, name) for _, name in tracked if f"validation_{name}" in metrics]
        best = f"; best in epoch {metrics['best_epoch'] + 1}" if scores and "best_epoch" in metrics else ""
        line = ", ".join([f"epoch {epoch + 1} of at most {trainer._num_epochs}", *scores])
        tqdm.write(f"{line}{best}; {metrics['training_duration'].partition('.')[0]}")


def _scores(metrics: Dict[str, Any], name: str) -> str:
    best = metrics.get(f"best_validation_{name}")
    return f"{name} {metrics[f'validation_{name}']:.4f}" + ("" if best is None else f" (best {best:.4f})")
