"""Weight files at the end of the training of a language model."""

import logging
from pathlib import Path
from typing import Any, Dict, Optional

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from elmo_plugin.adapters.bilm_folder import write_bilm_folder

logger = logging.getLogger(__name__)


@TrainerCallback.register("elmo_export")
class ElmoExport(TrainerCallback):
    """
    When the training has ended, write its best biLM into a folder for AllenNLP, bilm-tf and others.

    The folder holds `weights.hdf5` with the softmax, `options.json`, `vocabulary.txt` and a card, `README.md`, with the
    scores and the configuration. `elmo_plugin.adapters.bilm_folder` does the same from any checkpoint.

    # Parameters

    folder : relative to the folder of the training.

    Registered as "elmo_export".
    """

    def __init__(self, serialization_dir: str, folder: str = "bilm") -> None:
        super().__init__(serialization_dir)
        self._folder = folder

    @overrides
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if not hasattr(trainer.model, "weight_set"):
            raise ConfigurationError(
                f"callback 'elmo_export': the model is {type(trainer.model).__name__}, expected 'elmo_language_model'."
            )

    @overrides
    def on_end(
        self,
        trainer: Any,
        metrics: Optional[Dict[str, Any]] = None,
        epoch: Optional[int] = None,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if metrics is None or not is_primary:
            return  # the training did not end, it broke off
        configuration = Path(self.serialization_dir) / "config.json"
        params = Params.from_file(str(configuration)).as_dict(quiet=True) if configuration.exists() else None
        target = Path(self.serialization_dir) / self._folder
        write_bilm_folder(trainer.model.weight_set(self.serialization_dir), target, metrics, params)
        logger.info("biLM written to %s", target)
