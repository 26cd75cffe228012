"""Trainings that were killed, and how they are kept so that they can go on."""

from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from elmo_plugin.adapters.checkpoints import find_checkpoints

CHECKPOINTER_KEY = "trainer.checkpointer"
CALLBACKS_KEY = "trainer.callbacks"
CONFIGURATION = "config.json"


def kept(callbacks: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """
    Return the overrides of a configuration whose training may be killed at any time, goes on, and says how far it is.

    # Parameters

    callbacks : others, which the training has beside those that this needs: these take the place of the
        configuration's own.
    """
    # The durations that `elmo_epochs` prints are those that `elmo_resume` has corrected.
    return {CHECKPOINTER_KEY: {"type": "elmo"}, CALLBACKS_KEY: added(added(callbacks, "elmo_resume"), "elmo_epochs")}


def added(callbacks: Sequence[Dict[str, Any]], name: str) -> List[Dict[str, Any]]:
    """Callbacks with that of a name, which two of would do twice what it does."""
    return [*callbacks, *([] if any(one.get("type") == name for one in callbacks) else [{"type": name}])]


def can_go_on(folder: Path) -> bool:
    """Whether the checkpointer `elmo` has left a complete checkpoint there; AllenNLP's may be half-written."""
    return any({"model", "training", "process0"} <= files for files in find_checkpoints(folder).values())


def configure(folder: Path, config: Path, variables: Mapping[str, str], changes: str) -> None:
    """
    Let a training go on with this configuration, of which paths may have changed since, though not what they name:
    AllenNLP refuses one that is not letter by letter what it began with.

    # Parameters

    config, variables, changes : the experiment, its variables, and the parameters that are set in it, as JSON.
    """
    from allennlp.common import Params

    Params.from_file(str(config), changes, dict(variables)).to_file(str(folder / CONFIGURATION))
