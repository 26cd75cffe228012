"""ELMo for a task: a biLM and one or more mixes of its layers (Peters et al. 2018, sections 3.2 and 3.3)."""

import math
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple, Union

import torch
from torch import nn

from elmo_plugin.engine.bilm import BiLm, BiLmOutput, PackedLayers
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.layer_cache import LayerCache, check_cacheable
from elmo_plugin.engine.scalar_mix import ScalarMix

ALL_LAYERS = "all"
LAST_LAYER = "last"

Layers = Union[str, int, Sequence[int]]


@dataclass(frozen=True)
class ElmoOutput:
    """
    ELMo vectors of a padded batch.

    # Parameters

    representations : one tensor per mix, `(batch, words, 2 * projection)`, dropout applied.
    mask : `(batch, words)`, bool.
    """

    representations: List[torch.Tensor]
    mask: torch.Tensor


class Elmo(nn.Module):
    """
    A biLM with its mixes.

    # Parameters

    bilm : the biLM; shared by all mixes, run once per call.
    num_mixes : number of independent mixes, at least 1: one for each place where the task model takes ELMo in.
    layers : what is mixed: "all", "last", the number of one layer (0 is the token layer), or a list of numbers.
    layer_norm : "none", "batch" or "token"; see `ScalarMix`.
    dropout : probability on the mixed vectors.
    keep_boundaries : return the vectors of the sentence boundaries too.
    initial_weights : where the mix weights start, one number per mixed layer.
    train_weights, train_gamma : what of the mixes is trained.
    cache : where the layers of sentences are kept; needs a frozen biLM whose state is not carried.
    """

    def __init__(
        self,
        bilm: BiLm,
        *,
        num_mixes: int = 1,
        layers: Layers = ALL_LAYERS,
        layer_norm: str = "none",
        dropout: float = 0.0,
        keep_boundaries: bool = False,
        initial_weights: Optional[Sequence[float]] = None,
        train_weights: bool = True,
        train_gamma: bool = True,
        cache: Optional[LayerCache] = None,
    ) -> None:
        super().__init__()
        if num_mixes < 1:
            raise OptionsError(
                f"number of mixes is {num_mixes}, expected at least 1: each mix is one ELMo vector per token, made of "
                "all chosen layers. For the layers themselves use the biLM, or raw_layers()."
            )
        if cache is not None:
            check_cacheable(bilm)
        self.bilm = bilm
        self.cache = cache
        self.layers = resolve_layers(layers, bilm.num_layers)
        self.mixes = nn.ModuleList(
            ScalarMix(len(self.layers), layer_norm, initial_weights, train_weights, train_gamma)
            for _ in range(num_mixes)
        )
        self.dropout = nn.Dropout(dropout)
        self._keep_boundaries = keep_boundaries

    @property
    def output_dim(self) -> int:
        """Width of one representation."""
        return self.bilm.output_dim

    def reset_states(self) -> None:
        """Forget the state that earlier calls left behind."""
        self.bilm.reset_states()

    def forward(self, ids: torch.Tensor) -> ElmoOutput:
        """
        Return the ELMo vectors of a padded batch.

        # Parameters

        ids : as `BiLm.forward` takes them; further dimensions may stand between the batch and the words, and come
            back in the output.

        # Raises

        `ShapeError` where the ids cannot be for this biLM.
        """
        flat, leading = self._flatten(ids)
        packed = self._run(flat)
        chosen = [packed.layers[layer] for layer in self.layers]
        representations = []
        for mix in self.mixes:
            padded = packed.padded(mix(chosen), self._keep_boundaries)
            representations.append(self.dropout(padded).view(leading + tuple(padded.shape[1:])))
        mask = packed.mask(self._keep_boundaries)
        return ElmoOutput(representations=representations, mask=mask.view(leading + tuple(mask.shape[1:])))

    def raw_layers(self, ids: torch.Tensor) -> BiLmOutput:
        """
        Return all layers of the biLM, unmixed and without boundaries unless they are kept.

        # Returns

        Layers `(num_layers, batch, words, 2 * projection)` and mask `(batch, words)`; further dimensions of the ids
        come back.
        """
        flat, leading = self._flatten(ids)
        output = self._run(flat).output(self._keep_boundaries)
        layers, mask = output.layers, output.mask
        return BiLmOutput(
            layers=layers.view((layers.shape[0],) + leading + tuple(layers.shape[2:])),
            mask=mask.view(leading + tuple(mask.shape[1:])),
        )

    def _run(self, ids: torch.Tensor) -> PackedLayers:
        return self.bilm.run(ids) if self.cache is None else self.cache.run(self.bilm, ids)

    def _flatten(self, ids: torch.Tensor) -> Tuple[torch.Tensor, Tuple[int, ...]]:
        """Make one dimension of all those in front of the words, and return what they were."""
        leading = max(1, ids.dim() - self.bilm.token_encoder.batch_ndim + 1)
        outer, inner = tuple(ids.shape[:leading]), tuple(ids.shape[leading:])
        return ids.reshape((math.prod(outer),) + inner), outer


def resolve_layers(layers: Layers, num_layers: int) -> List[int]:
    """
    Turn a choice of layers into their numbers.

    # Parameters

    layers : "all", "last", a number, or a list of different numbers; -1 is the last layer.
    num_layers : how many there are.

    # Raises

    `OptionsError` where the choice names no layer, or a layer that does not exist or comes twice.
    """
    if layers == ALL_LAYERS:
        return list(range(num_layers))
    if layers == LAST_LAYER:
        return [num_layers - 1]
    numbers = [layers] if isinstance(layers, int) else layers
    expected = (
        f'expected "{ALL_LAYERS}", "{LAST_LAYER}", a number or a list of different numbers from 0 to '
        f"{num_layers - 1}, because the biLM has {num_layers} layers, the token layer included."
    )
    if not isinstance(numbers, (list, tuple)) or not numbers or not all(type(number) is int for number in numbers):
        raise OptionsError(f"layers is {layers!r}, {expected}")
    resolved = [number % num_layers for number in numbers]
    if not all(-num_layers <= number < num_layers for number in numbers) or len(set(resolved)) != len(resolved):
        raise OptionsError(f"layers is {layers!r}, {expected}")
    return resolved
