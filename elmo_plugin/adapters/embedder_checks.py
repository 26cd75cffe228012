"""What the parameters of the token embedder `elmo` may not be."""

from typing import List, Optional, Union

from allennlp.common.checks import ConfigurationError


def check_mixes(
    num_mixes: int,
    layers: Union[str, int, List[int]],
    initial_weights: Optional[List[float]],
    scalar_mix_parameters: Optional[List[float]],
) -> None:
    """Raise `ConfigurationError` where the parameters of the mixes contradict each other."""
    if num_mixes is None or num_mixes < 1:
        raise ConfigurationError(
            f'"num_mixes" is {num_mixes}, expected at least 1: it is the number of ELMo vectors per token, not of '
            'layers. Layers are chosen by "layers"; the layers themselves are had from raw_layers().'
        )
    if scalar_mix_parameters is not None:
        for name, is_given in (("layers", layers != "all"), ("initial_weights", initial_weights is not None)):
            if is_given:
                raise ConfigurationError(
                    f'"scalar_mix_parameters" fixes the weights of all layers, and "{name}" says something else '
                    "about them. Give one of the two."
                )


def check_numbers(dropout: Optional[float], projection_dim: Optional[int]) -> None:
    """Raise `ConfigurationError` where a number is out of its range."""
    if dropout is None or not 0 <= dropout <= 1:
        raise ConfigurationError(f'"dropout" is {dropout}, expected a number from 0 (none) to 1.')
    if projection_dim is not None and projection_dim < 0:
        raise ConfigurationError(f'"projection_dim" is {projection_dim}, expected a width, or null for no projection.')
