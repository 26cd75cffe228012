"""What a task learns about the layers of the biLM, epoch by epoch."""

import json
from pathlib import Path
from typing import Any, Dict, List

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from elmo_plugin.formats.atomic import replacing
from elmo_plugin.token_embedders.elmo import ElmoEmbedder

FILE_NAME = "layer_weights.jsonl"


@TrainerCallback.register("elmo_layer_weights")
class ElmoLayerWeights(TrainerCallback):
    """
    Write the weights of the layers and gamma of every mix of ELMo, at the start and behind every epoch.

    A line of `layer_weights.jsonl`, beside the metrics, is one mix: "epoch" (0 is the start), "module" (its name in the
    model), "mix", "layers", "weights" (behind the softmax, they add up to 1) and "gamma". These are of the weights that
    train, also where the model is scored with their moving average. A training that goes on with `--recover` writes
    the epochs that it repeats anew.

    Registered as "elmo_layer_weights".
    """

    @overrides
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if is_primary and trainer._start_after_epochs_completed == 0:
            self._write(trainer, 0)

    @overrides
    def on_epoch(
        self,
        trainer: Any,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if is_primary:
            self._write(trainer, epoch + 1)

    def _write(self, trainer: Any, epoch: int) -> None:
        path = Path(self.serialization_dir) / FILE_NAME
        earlier = [line for line in read(path) if line["epoch"] < epoch]
        with replacing(path) as part, open(part, "w", encoding="utf-8") as file:
            for line in [*earlier, *_lines(trainer.model, epoch)]:
                file.write(json.dumps(line) + "\n")


def read(path: Path) -> List[Dict[str, Any]]:
    """Read what the callback has written; nothing where there is no such file yet."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _lines(model: Any, epoch: int) -> List[Dict[str, Any]]:
    return [
        {"epoch": epoch, "module": name, "mix": number, **mix}
        for name, module in model.named_modules()
        if isinstance(module, ElmoEmbedder)
        for number, mix in enumerate(module.mixing_weights())
    ]
