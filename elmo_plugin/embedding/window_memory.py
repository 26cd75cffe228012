"""Memory for the vectors of windows, used again and again."""

from typing import List, NamedTuple, Sequence, Tuple

import numpy as np
import torch

# The line in which a window ends may reach beyond its limit.
_TOKENS_BEYOND = 1024


class Room(NamedTuple):
    """
    An array, and what it lies in.

    # Parameters

    vectors : `(tokens, layers, dim)` or `(tokens, dim)`, float32, with any content.
    memory : `(numbers,)`.
    """

    vectors: np.ndarray
    memory: np.ndarray


class WindowMemory:
    """
    Rooms for windows. What was given back is used again: the pages of new memory take the system longer to bring than
    the vectors take to be put there. Threads may share one.

    # Parameters

    shape : of one token's vectors: `(layers, dim)` or `(dim,)`.
    layers_first : have each layer in one piece of memory, not each token.
    tokens : in a window, but for its last line. What is larger is not kept.
    """

    def __init__(self, shape: Sequence[int], layers_first: bool, tokens: int) -> None:
        self._shape: Tuple[int, ...] = tuple(shape)
        self._is_turned = layers_first and len(self._shape) == 2
        self._numbers = (tokens + _TOKENS_BEYOND) * int(np.prod(self._shape))
        self._free: List[np.ndarray] = []

    def room(self, tokens: int) -> Room:
        """Return room for the vectors of so many tokens."""
        needed = tokens * int(np.prod(self._shape))
        memory = self._memory(needed)
        vectors = memory[:needed]
        if self._is_turned:
            layers, dim = self._shape
            return Room(vectors.reshape(layers, tokens, dim).transpose(1, 0, 2), memory)
        return Room(vectors.reshape(tokens, *self._shape), memory)

    def give_back(self, room: Room) -> None:
        """Let a room be used again, whose vectors nobody needs any more."""
        if len(room.memory) == self._numbers:
            self._free.append(room.memory)

    def _memory(self, needed: int) -> np.ndarray:
        if needed > self._numbers:
            return _new(needed)
        return self._free.pop() if self._free else _new(self._numbers)


def _new(numbers: int) -> np.ndarray:
    # NumPy asks for huge pages, which a virtual machine may have to get from its host first.
    return torch.empty(numbers, dtype=torch.float32).numpy()
