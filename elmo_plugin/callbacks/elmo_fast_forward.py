"""Back to the place in the text where a training stopped, quickly."""

from typing import Any, Dict, List, Optional, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from elmo_plugin.data_loaders.elmo_corpus import ElmoCorpusLoader


@TrainerCallback.register("elmo_fast_forward")
class ElmoFastForward(TrainerCallback):
    """
    Let the data loader `elmo_corpus` pass over what a resumed training has already seen, without making the batches.

    AllenNLP goes through all of them and throws them away. With this, the text of epochs that are whole passes is not
    read again; else it is read and shared out to the rows, but nothing more is done until the place is reached. The
    batches that follow are the same: a text whose files have other names, other sizes or another order than when the
    training began is refused with a `ConfigurationError`.

    Registered as "elmo_fast_forward".
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._text: Optional[List[Tuple[str, int]]] = None

    @overrides
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if isinstance(trainer.data_loader, ElmoCorpusLoader):
            found = trainer.data_loader.text_sizes()
            if self._text is not None and self._text != found:
                raise ConfigurationError(
                    f"elmo_fast_forward: the text has changed since this training began: {_change(self._text, found)}. "
                    "Where to go on in it is not known. Put the old files back, or begin anew with these weights."
                )
            self._text = found
            trainer.data_loader.skip_while(lambda: _has_seen(trainer), trainer._start_after_epochs_completed)

    @overrides
    def state_dict(self) -> Dict[str, Any]:
        return {"text": self._text}

    @overrides
    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._text = state_dict.get("text")  # checkpoints of older versions have none


def _has_seen(trainer: Any) -> bool:
    """As the trainer itself decides about the batch that comes next."""
    place = (trainer._epochs_completed, trainer._batches_in_epoch_completed)
    return place < (trainer._start_after_epochs_completed, trainer._start_after_batches_in_epoch_completed)


def _change(before: List[Tuple[str, int]], now: List[Tuple[str, int]]) -> str:
    """The first difference of two texts in words."""
    if len(before) != len(now):
        return f"it has {len(now)} files, and had {len(before)}"
    old, new = next((old, new) for old, new in zip(before, now) if old != new)
    return f"{new[0]} of {new[1]} bytes is where {old[0]} of {old[1]} bytes was"
