"""Which biLM the configuration of a model names that AllenNLP's own ELMo was trained in."""

import json
from pathlib import Path
from typing import Any, Iterator, Optional

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats import pretrained

# The embedder's own default in AllenNLP
_DEFAULT = "original"


def options_named(config: Optional[str], where: str) -> BiLmOptions:
    """
    Find the options.json that a configuration names.

    # Parameters

    config : the text of config.json; None where there is none.
    where : what to call the model in messages.

    # Returns

    The options. Only the addresses of the published biLMs are fetched, and no others.

    # Raises

    `FormatError` where no options.json is named, several are, or it is not on this machine.
    """
    named = sorted(set(_names(_parsed(config, where))))
    advice = "Name it: read_pair(options_file, model), or --options-file."
    if len(named) != 1:
        found = f"its config.json names {', '.join(named)}" if named else "its config.json names no options.json"
        raise FormatError(
            f"{where}: a biLM that AllenNLP's own Elmo keeps, which is saved without its options, and {found}. {advice}"
        )
    published = {pretrained.urls(name)[0] for name in pretrained.names() if name != pretrained.BUILTIN}
    if named[0] in published:
        return BiLmOptions.from_file(pretrained.fetch(named[0]))
    if pretrained.is_url(named[0]) or not Path(named[0]).is_file():
        raise FormatError(
            f"{where}: a biLM that AllenNLP's own Elmo keeps, which is saved without its options; its config.json "
            f"names {named[0]}, which is not on this machine. {advice}"
        )
    return BiLmOptions.from_file(named[0])


def _parsed(config: Optional[str], where: str) -> Any:
    try:
        return None if config is None else json.loads(config)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: its config.json is not JSON ({error}).") from error


def _names(config: Any) -> Iterator[str]:
    """The options.json of each ELMo in a configuration, whatever the model."""
    if isinstance(config, dict):
        named = config.get("options_file")
        if isinstance(named, str):
            yield named
        elif config.get("type") == "elmo_token_embedder":
            yield pretrained.urls(_DEFAULT)[0]
        for value in config.values():
            yield from _names(value)
    elif isinstance(config, list):
        for value in config:
            yield from _names(value)
