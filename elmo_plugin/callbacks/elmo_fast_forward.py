"""Back to the place in the text where a training stopped, quickly."""

from typing import Any

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from elmo_plugin.data_loaders.elmo_corpus import ElmoCorpusLoader


@TrainerCallback.register("elmo_fast_forward")
class ElmoFastForward(TrainerCallback):
    """
    Let the data loader `elmo_corpus` pass over what a resumed training has already seen, without making the batches.

    AllenNLP goes through all of them and throws them away. With this, the text of epochs that are whole passes is not
    read again; else it is read and shared out to the rows, but nothing more is done until the place is reached. The
    batches that follow are the same.

    Registered as "elmo_fast_forward".
    """

    @overrides
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if isinstance(trainer.data_loader, ElmoCorpusLoader):
            trainer.data_loader.skip_while(lambda: _has_seen(trainer), trainer._start_after_epochs_completed)


def _has_seen(trainer: Any) -> bool:
    """As the trainer itself decides about the batch that comes next."""
    place = (trainer._epochs_completed, trainer._batches_in_epoch_completed)
    return place < (trainer._start_after_epochs_completed, trainer._start_after_batches_in_epoch_completed)
