"""Checkpoints from which the training of a language model goes on exactly."""

import logging
from copy import copy
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.trainer import Trainer, TrainerCheckpoint
from overrides import overrides
from torch import distributed, nn

from elmo_plugin.adapters.checkpoints import Checkpoint, find_checkpoints, infinite_tensors, last_finite
from elmo_plugin.adapters.random_state import random_state, set_random_state
from elmo_plugin.engine.stream_state import StreamStates
from elmo_plugin.formats.atomic import remove_unfinished, replacing
from elmo_plugin.formats.torch_file import load_state

logger = logging.getLogger(__name__)

_WHERE = "checkpointer 'elmo'"


@Checkpointer.register("elmo")
class ElmoCheckpointer(Checkpointer):
    """
    AllenNLP's checkpointer, and beyond it:

    - A training that was cut off at any moment, by `kill -9` too, goes on as if it had not been: the random state and
      the LSTM states of every process are kept as well, with the data loader `elmo_corpus` bit for bit on the CPU.
    - A file appears whole or not at all, and a checkpoint counts when all of its files are there.
    - Only finite weights are kept, so that the last checkpoint is one to go on from.

    Takes the parameters of AllenNLP's checkpointer. Registered as "elmo".
    """

    @overrides
    def save_checkpoint(self, trainer: Trainer) -> None:
        if self.state_is_sharded:
            raise ConfigurationError(f"{_WHERE}: does not know sharded models; use the type 'default' with FairScale.")
        point = Checkpoint(trainer._epochs_completed, trainer._batches_in_epoch_completed)
        folder = self._serialization_dir
        self._refuse_infinite(trainer.model)
        _write(self._process_state(trainer.model), point.process_state(folder, self._rank))
        if is_distributed():
            distributed.barrier()  # the weights, written last, say that the checkpoint is complete
        saved = trainer.get_checkpoint_state()
        if saved is not None:
            _write(saved.trainer_state, point.training_state(folder))
            _write(saved.model_state, point.model_state(folder))
        super().save_checkpoint(trainer)  # writes nothing where the files exist; keeps count, removes old checkpoints
        # AllenNLP's does not keep count where it has nothing to write.
        self._last_save_num_epochs_completed, self._last_save_num_batches_in_epoch_completed = point

    @overrides
    def find_latest_checkpoint(self) -> Optional[Tuple[str, str]]:
        point = self._latest()
        if point is None:
            return None
        folder = self._serialization_dir
        return str(point.model_state(folder)), str(point.training_state(folder))

    @overrides
    def load_checkpoint(self) -> Optional[TrainerCheckpoint]:
        if self._rank == 0:
            remove_unfinished(Path(self._serialization_dir))
        point = self._latest()
        if point is None:
            return None
        path = point.process_state(self._serialization_dir, self._rank)
        process = load_state(path, str(path))
        if process["processes"] != _processes():
            raise ConfigurationError(
                f"{_WHERE}: {path} is of a training with {process['processes']} processes, found {_processes()}: the "
                "text would be shared out otherwise. Go on with as many, or begin a new training from the archive."
            )
        checkpoint = super().load_checkpoint()
        assert checkpoint is not None, point
        self._restore_best(point, checkpoint)
        _replace_streams(checkpoint.model_state, process["streams"])
        set_random_state(process["random"])
        return checkpoint

    def _restore_best(self, point: Checkpoint, checkpoint: TrainerCheckpoint) -> None:
        """
        Write the best weights where they are those of this checkpoint: AllenNLP does it behind the checkpoint, so that
        a training may have been cut off between the two, with older ones there, or none. They are in this folder,
        wherever it was when the checkpoint was written.
        """
        state = checkpoint.trainer_state
        best = Path(self._serialization_dir) / "best.th"
        if not point.batches and state["metric_tracker"]["is_best_so_far"]:
            if self._rank == 0:
                weights = copy(checkpoint.model_state)
                weights.update(state.get("moving_average", {}).get("shadows", {}))
                _write(weights, best)
            state["best_model_filename"] = str(best)
        elif state.get("best_model_filename") is not None:
            state["best_model_filename"] = str(best)

    @overrides
    def _remove_checkpoint(self, epochs_completed: int, batches_in_epoch_completed: int) -> None:
        super()._remove_checkpoint(epochs_completed, batches_in_epoch_completed)
        for path in Checkpoint(epochs_completed, batches_in_epoch_completed).process_states(self._serialization_dir):
            path.unlink()

    def _latest(self) -> Optional[Checkpoint]:
        found = find_checkpoints(self._serialization_dir)
        needed = {"model", "training", f"process{self._rank}"}
        complete = [point for point in found if needed <= found[point]]
        if found and not complete:
            raise ConfigurationError(
                f"{_WHERE}: none of the {len(found)} checkpoints in {self._serialization_dir} is complete; expected a "
                f"process_state_e*_b*_w{self._rank}.th beside each. Those of AllenNLP's checkpointer lack it: go "
                'on with "type": "default".'
            )
        return max(complete, default=None)

    def _process_state(self, model: nn.Module) -> Dict[str, Any]:
        return {
            "processes": _processes(),
            "random": random_state(),
            "streams": {name: streams.state_dict() for name, streams in _streams(model).items()},
        }

    def _refuse_infinite(self, model: nn.Module) -> None:
        names = infinite_tensors(model.state_dict())
        if names:
            raise FloatingPointError(
                f"{_WHERE}: {len(names)} tensors hold a NaN or an infinite number, the first is {names[0]!r}; nothing "
                f"was written. The last good checkpoint is {last_finite(self._serialization_dir) or 'none'}. Begin a "
                "new training from it (the model's weights in place of its options) with a lower learning rate."
            )


def _write(state: Any, path: Path) -> None:
    with replacing(path) as temporary:
        torch.save(state, temporary)


def _processes() -> int:
    return distributed.get_world_size() if is_distributed() else 1


def _streams(model: nn.Module) -> Dict[str, StreamStates]:
    return {name: module for name, module in model.named_modules() if isinstance(module, StreamStates)}


def _replace_streams(model_state: Dict[str, Any], streams: Dict[str, Dict[str, torch.Tensor]]) -> None:
    """Put the streams of this process in the place of those of the first one."""
    for name, state in streams.items():
        for key in [key for key in model_state if key.startswith(name + ".")]:
            del model_state[key]
        model_state.update({f"{name}.{key}": tensor for key, tensor in state.items()})
