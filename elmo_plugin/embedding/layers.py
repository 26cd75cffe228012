"""Which layers of the biLM go into the vectors."""

from typing import List, Optional, Sequence, Tuple, Union

import torch

from elmo_plugin.engine.errors import OptionsError

ALL, TOP, AVERAGE = NAMES = ("all", "top", "average")

Choice = Union[str, int, Sequence[int]]


class LayerChoice:
    """
    Layers of a biLM, all of them, some, one, or their mean.

    # Parameters

    choice : "all", "top", "average", the number of one layer (0 is the token layer), or a list of numbers; in a string
        such as "0" or "0,2" too. One number gives vectors `(tokens, dim)` as "top" and "average" do, a list
        `(layers, tokens, dim)` as "all" does.
    num_layers : layers of the biLM.

    # Raises

    `OptionsError` for anything else, and for layers that the biLM does not have.
    """

    def __init__(self, choice: Choice, num_layers: int) -> None:
        parsed = _parse(choice)
        #: as it is written into files
        self.name = parsed if isinstance(parsed, str) else ",".join(map(str, parsed))
        self._numbers = _numbers(parsed, num_layers)
        self._is_mean = parsed == AVERAGE
        #: whether there is one vector per token, not a list of them
        self.is_single = parsed in (TOP, AVERAGE) or isinstance(parsed, tuple) and not _is_list(choice)
        wrong = [number for number in self._numbers if not 0 <= number < num_layers]
        if wrong or not self._numbers:
            raise OptionsError(
                f"layers are {choice!r}, but the biLM has the layers 0 to {num_layers - 1}. Choose among them, or one "
                f"of {list(NAMES)}."
            )

    def shape(self, tokens: int, dim: int) -> Tuple[int, ...]:
        """The shape of the vectors of so many tokens, token by token."""
        return (tokens, dim) if self.is_single else (tokens, len(self._numbers), dim)

    def take(self, layers: List[torch.Tensor], places: torch.Tensor) -> List[torch.Tensor]:
        """
        Choose among the layers, and among their tokens.

        # Parameters

        layers : each `(packed tokens, dim)`.
        places : of the wanted tokens, `(tokens,)` int64.

        # Returns

        Each layer of the vectors, `(tokens, dim)`, or one such tensor for one vector per token; float32.
        """
        chosen = [layers[number].index_select(0, places).float() for number in self._numbers]
        if self._is_mean:
            return [torch.stack(chosen, dim=1).mean(dim=1)]
        return chosen


def _parse(choice: Choice) -> Union[str, Tuple[int, ...]]:
    if isinstance(choice, str):
        if choice in NAMES:
            return choice
        parts = [part.strip() for part in choice.split(",")]
        numbers: Optional[Sequence[int]] = [int(part) for part in parts] if all(map(str.isdecimal, parts)) else None
    elif isinstance(choice, int) and not isinstance(choice, bool):
        numbers = [choice]
    else:
        numbers = choice if isinstance(choice, (list, tuple)) else None
    if numbers is None or not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise OptionsError(f'layers are {choice!r}; choose one of {list(NAMES)}, a number, or numbers such as "0,2".')
    return tuple(numbers)


def _numbers(parsed: Union[str, Tuple[int, ...]], num_layers: int) -> Tuple[int, ...]:
    if isinstance(parsed, tuple):
        return parsed
    return (num_layers - 1,) if parsed == TOP else tuple(range(num_layers))


def _is_list(choice: Choice) -> bool:
    return "," in choice if isinstance(choice, str) else not isinstance(choice, int)
