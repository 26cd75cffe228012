"""What AllenNLP forgets of a training that goes on after it was killed."""

from typing import Any, Dict

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from elmo_plugin.adapters.durations import duration_of, seconds_of


@TrainerCallback.register("elmo_resume")
class ElmoResume(TrainerCallback):
    """
    Let a training that goes on with `--recover` end as if it had not been killed.

    - One that was killed behind its last epoch, while it was evaluated or archived, trains no further epoch where its
      patience is at its end (AllenNLP trains one).
    - `metrics.json` has the metrics of the last epoch where no further one is trained (AllenNLP leaves them out).
    - `training_duration` counts what was trained before too.

    Registered as "elmo_resume".
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._metrics: Dict[str, Any] = {}
        self._seconds_before = 0.0

    @overrides
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        epochs = trainer._start_after_epochs_completed
        if epochs > 0 and trainer._metric_tracker.should_stop_early():
            trainer._num_epochs = epochs

    @overrides
    def on_epoch(
        self,
        trainer: Any,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        # of this process; the trainer writes it anew in each epoch
        metrics["training_duration"] = duration_of(self._seconds_before + seconds_of(metrics["training_duration"]))
        self._metrics = dict(metrics)

    @overrides
    def on_end(
        self,
        trainer: Any,
        metrics: Any = None,
        epoch: Any = None,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if metrics is not None:  # None where the training failed
            for name, value in self._metrics.items():
                metrics.setdefault(name, value)

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        return {"metrics": self._metrics}

    @overrides
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._metrics = state_dict["metrics"]
        if self._metrics:
            self._seconds_before = seconds_of(self._metrics["training_duration"])
