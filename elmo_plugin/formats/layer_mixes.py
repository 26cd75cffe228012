"""
What a trained AllenNLP model has learned about the layers of its biLMs, read without running code from it.

Two names are known: those of this package's token embedder (`elmo.mixes.0.weights`), and those of AllenNLP's `Elmo`
(`scalar_mix_0.scalar_parameters.2`), wherever in the model they stand.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.elmo import ALL_LAYERS, resolve_layers
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats.archive import ARCHIVE_WEIGHTS
from elmo_plugin.formats.record import records_in
from elmo_plugin.formats.tar_members import is_tar, take_out
from elmo_plugin.formats.torch_file import float32_copy, load_state

CONFIG = "config.json"

_OURS = re.compile(r"(?P<module>(?:.*\.)?)elmo\.mixes\.(?P<mix>\d+)\.weights")
_ALLENNLP = re.compile(r"(?P<module>(?:.*\.)?)scalar_mix_(?P<mix>\d+)\.scalar_parameters\.(?P<layer>\d+)")
_EMBEDDER = re.compile(r"token_embedder_(?P<key>.+)\.$")
#: numbers in one tensor of a mix, at most: no biLM has as many layers
_MOST = 1000


class LayerMix(NamedTuple):
    """
    One mix of layers (Peters et al. 2018, equation 1).

    # Parameters

    module : where it is in the model.
    place : "input" or "output" of the task's encoder, or the number of a further mix.
    layers : numbers of the layers; 0 is the token layer.
    weights : of each layer, behind the softmax.
    gamma : the factor of the whole.
    """

    module: str
    place: str
    layers: List[int]
    weights: List[float]
    gamma: float


def places(config: Mapping[str, Any], mixes: int) -> List[str]:
    """
    Say where the mixes of an embedder go.

    # Parameters

    config : the model's configuration.
    mixes : of the embedder. With two the second is for the encoder's output; a single one is taken to be there where
        any encoder of the model is `elmo_output`.
    """
    if mixes == 1:
        return ["output" if '"elmo_output"' in json.dumps(config) else "input"]
    return [*("input", "output")[:mixes], *(f"mix {number + 1}" for number in range(2, mixes))]


def read_layer_mixes(path: Path, where: Optional[str] = None, limit: Optional[int] = None) -> List[LayerMix]:
    """
    Read the mixes of a trained model.

    # Parameters

    path : its `model.tar.gz`.
    where : what to call it in messages; None for its path.
    limit : bytes that it may unpack to; None for any number.

    # Raises

    `FormatError` where it is no archive, is damaged or too large, or has no mix.
    """
    where = str(path) if where is None else where
    if not is_tar(path, where):
        raise FormatError(f"{where}: not a tar archive, expected the model.tar.gz that AllenNLP writes.")
    with tempfile.TemporaryDirectory() as folder:
        config_file, weights_file = Path(folder) / CONFIG, Path(folder) / ARCHIVE_WEIGHTS
        take_out(path, {CONFIG: config_file, ARCHIVE_WEIGHTS: weights_file}, where, limit)
        return mixes_in(load_state(weights_file, where), _read_config(config_file, where), where)


def mixes_in(state: Mapping[str, Any], config: Mapping[str, Any], where: str) -> List[LayerMix]:
    """
    Find the mixes in a state dict.

    # Parameters

    state : of the whole model.
    config : the model's configuration.
    where : what to call it in messages.

    # Raises

    `FormatError` where there is none, or one is not what it should be.
    """
    found: Dict[str, Dict[int, Tuple[List[float], float]]] = {}
    for name in state:
        ours = _OURS.fullmatch(name)
        if ours is not None:
            scores = _numbers(state, name, where)
            gamma = _numbers(state, name[: -len("weights")] + "gamma", where)[0]
            found.setdefault(ours["module"], {})[int(ours["mix"])] = (scores, gamma)
    for (module, mix), scores in _allennlp_scores(state, where).items():
        gamma = _numbers(state, f"{module}scalar_mix_{mix}.gamma", where)[0]
        found.setdefault(module, {})[mix] = (scores, gamma)
    if not found:
        raise FormatError(
            f"{where}: this model has no weights of biLM layers, expected one that was trained with the token embedder "
            '"elmo" or with AllenNLP\'s Elmo.'
        )
    bilms = records_in(state, where)
    result: List[LayerMix] = []
    for module, mixes in found.items():
        record = bilms.get(module)
        for place, (_, (scores, gamma)) in zip(places(config, len(mixes)), sorted(mixes.items())):
            layers = _layers(config, module, len(scores), None if record is None else record.options.num_layers)
            if layers is None:
                raise FormatError(
                    f"{where}: a mix of {len(scores)} layers in {module.rstrip('.')}, and the configuration does not "
                    "say which layers these are."
                )
            weights = torch.softmax(torch.tensor(scores, dtype=torch.float64), dim=0).tolist()
            result.append(LayerMix(module.rstrip("."), place, layers, weights, gamma))
    return result


def _allennlp_scores(state: Mapping[str, Any], where: str) -> Dict[Tuple[str, int], List[float]]:
    layers: Dict[Tuple[str, int], Dict[int, float]] = {}
    for name in state:
        match = _ALLENNLP.fullmatch(name)
        if match is not None:
            of_mix = layers.setdefault((match["module"], int(match["mix"])), {})
            of_mix[int(match["layer"])] = _numbers(state, name, where)[0]
    return {mix: [scores[layer] for layer in sorted(scores)] for mix, scores in layers.items()}


def _numbers(state: Mapping[str, Any], name: str, where: str) -> List[float]:
    tensor = state.get(name)
    # Before it is copied: a tensor of a few bytes may claim to have any number of elements.
    if isinstance(tensor, torch.Tensor) and not 1 <= tensor.numel() <= _MOST:
        raise FormatError(f"{where}: {name!r} has {tensor.numel():,} numbers, expected 1 to {_MOST:,}.")
    numbers = float32_copy(state, name, where).flatten()
    if not bool(torch.isfinite(numbers).all()):
        raise FormatError(f"{where}: {name!r} is not finite.")
    return numbers.tolist()


def _layers(config: Mapping[str, Any], module: str, mixed: int, num_layers: Optional[int]) -> Optional[List[int]]:
    """The numbers of the mixed layers; None where that is not known."""
    if num_layers is None:  # AllenNLP's own mixes all
        return list(range(mixed))
    embedder = _EMBEDDER.search(module)
    chosen = ALL_LAYERS if embedder is None else _layers_in(config, embedder["key"])
    layers = resolve_layers(chosen, num_layers)
    return layers if len(layers) == mixed else None


def _layers_in(config: Mapping[str, Any], key: str) -> Any:
    """What the configuration of a token embedder says about its layers."""
    for embedders in _found("token_embedders", config):
        embedder = embedders.get(key) if isinstance(embedders, Mapping) else None
        if isinstance(embedder, Mapping):
            return embedder.get("layers", ALL_LAYERS)
    return ALL_LAYERS


def _found(key: str, config: Any) -> Iterator[Any]:
    waiting: List[Any] = [config]
    while waiting:
        part = waiting.pop()
        children: Sequence[Any] = list(part.values()) if isinstance(part, Mapping) else []
        if isinstance(part, list):
            children = part
        if isinstance(part, Mapping) and key in part:
            yield part[key]
        waiting.extend(children)


def _read_config(path: Path, where: str) -> Mapping[str, Any]:
    try:
        model = json.loads(path.read_text(encoding="utf-8"))["model"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f'{where}: {CONFIG}: {error!r}; expected a JSON object with "model".') from error
    if not isinstance(model, Mapping):
        raise FormatError(f'{where}: {CONFIG}: "model" is {type(model).__name__}, expected a JSON object.')
    return model
