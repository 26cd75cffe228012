"""The layer cache as configurations describe it: a folder, or a folder with settings."""

from typing import Any, Dict, Optional, Union

from allennlp.common.checks import ConfigurationError

from elmo_plugin.engine.layer_cache import LayerCache
from elmo_plugin.engine.state import CARRIED

_SETTINGS = ("folder", "dtype", "max_gigabytes")


def open_cache(cache: Optional[Union[str, Dict[str, Any]]], state: str, fine_tune: bool) -> Optional[LayerCache]:
    """
    Open the layer cache of a component.

    # Parameters

    cache : the folder; or the arguments of `LayerCache` by name; None for no cache.
    state : the state policy of the biLM.
    fine_tune : whether the biLM is to be trained.

    # Raises

    `ConfigurationError` where the biLM cannot be cached or a setting has another name; the errors of `LayerCache`.
    """
    if cache is None:
        return None
    if state == CARRIED:
        raise ConfigurationError(
            f'"cache" ({cache!r}) needs "state": "reset" or "warm", but it is {state!r}: the vectors of a sentence '
            "then depend on the batches before it, so that they cannot be cached."
        )
    if fine_tune:
        raise ConfigurationError(
            f'"cache" ({cache!r}) and "fine_tune" exclude each other: the layers of a biLM that is trained change with '
            "every step. Leave out one of the two."
        )
    settings = {"folder": cache} if isinstance(cache, str) else dict(cache)
    unknown = sorted(set(settings) - set(_SETTINGS))
    if unknown or not isinstance(settings.get("folder"), str):
        raise ConfigurationError(
            f'"cache" is {cache!r}, expected a folder, or an object with "folder" and any of {list(_SETTINGS[1:])}.'
        )
    return LayerCache(**settings)
