"""HTML as data: what the function `draw` of assets/explorer.js makes elements of."""

from typing import Any, List, Union

#: text, or `[tag, attributes, *children]`
Node = Union[str, List[Any]]


def element(tag: str, *children: Node, **attributes: str) -> Node:
    """
    Describe an element.

    # Parameters

    tag : its name.
    children : elements and text.
    attributes : by name, with `_` for `-` and behind what is a word of Python (`class_`, `aria_hidden`).
    """
    return [tag, {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}, *children]
