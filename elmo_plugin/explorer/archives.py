"""Trained models that were dropped into the page: what they have learned about the layers (figure 2 of the paper)."""

from pathlib import Path
from typing import Any, Dict, List

from elmo_plugin.explorer.limits import LIMITS, Limits
from elmo_plugin.explorer.text import PageError
from elmo_plugin.formats.layer_mixes import read_layer_mixes
from elmo_plugin.reproduction.layer_sheet import LayerWeights

_LONGEST_NAME = 80


def read_archive(path: Path, name: str, limits: Limits = LIMITS) -> List[LayerWeights]:
    """
    Read the mixes of an archive without running code from it.

    # Parameters

    path : where it is.
    name : what its owner calls it.

    # Raises

    `FormatError` where it is none, or has no mixes.
    """
    task = name.strip()[:_LONGEST_NAME] or "archive"
    mixes = read_layer_mixes(path, task, limits.unpacked)
    modules = {mix.module for mix in mixes}
    return [
        LayerWeights(
            task if len(modules) == 1 else f"{task}, {mix.module}",
            mix.place,
            dict(zip(mix.layers, mix.weights)),
            mix.gamma,
            1,
        )
        for mix in mixes
    ]


def to_json(found: List[LayerWeights]) -> List[Dict[str, Any]]:
    """As a browser keeps them."""
    return [
        {
            "task": one.task,
            "place": one.place,
            "layers": list(one.weights),
            "weights": list(one.weights.values()),
            "gamma": one.gamma,
        }
        for one in found
    ]


def from_json(data: Any, limits: Limits = LIMITS) -> List[LayerWeights]:
    """
    Check what a browser says that it keeps.

    # Raises

    `PageError` where it cannot come from `to_json`, or is more than the limits allow.
    """
    try:
        found = [
            LayerWeights(
                _text(one["task"]),
                _text(one["place"]),
                {int(layer): float(weight) for layer, weight in zip(one["layers"], one["weights"])},
                float(one["gamma"]),
                1,
            )
            for one in data
        ]
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise PageError("The browser sent no weights of layers. Load the page again.") from error
    if len(found) > limits.mixes:
        raise PageError(
            f"{len(found)} mixes are more than the {limits.mixes} that this page shows. Remove all, and drop fewer."
        )
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value[: 2 * _LONGEST_NAME]
