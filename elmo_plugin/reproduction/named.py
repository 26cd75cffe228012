"""What a configuration names by paths, addresses or names: data, word vectors, biLMs."""

from typing import Any, Iterator, List, Tuple

#: the keys of a configuration that name word vectors and a biLM
WORD_VECTORS, WEIGHTS = "pretrained_file", "weights"
#: AllenNLP's own words for them
_ALIASES = {"weight_file": WEIGHTS}
DATA = "data"
_KINDS = {WORD_VECTORS: "word vectors", WEIGHTS: "biLM"}


def named_in(value: Any, key: str = "") -> Iterator[Tuple[str, str]]:
    """Yield what a configuration names, with its key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from named_in(inner, _ALIASES.get(name) or name)
    elif isinstance(value, list):
        for inner in value:
            yield from named_in(inner, key)
    elif isinstance(value, str) and (key.endswith("data_path") or key in _KINDS):
        yield key, value


def vectors_in(value: Any) -> Iterator[Tuple[str, int]]:
    """Yield the word vectors that a configuration names, with how many numbers each has."""
    if isinstance(value, dict):
        if isinstance(value.get(WORD_VECTORS), str):
            yield value[WORD_VECTORS], value["embedding_dim"]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from vectors_in(inner)


def kind_of(key: str) -> str:
    """What a key names: "data", "word vectors" or "biLM"."""
    return _KINDS.get(key, DATA)


def kinds_of(config: Any) -> List[str]:
    """The kinds of what a configuration names."""
    found = {kind_of(key) for key, _ in named_in(config)}
    return [kind for kind in (DATA, *_KINDS.values()) if kind in found]
