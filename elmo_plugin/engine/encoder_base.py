"""What the token layer of a biLM has to do, whatever it knows of words."""

from abc import abstractmethod
from functools import partial, reduce
from typing import List, Optional, Tuple

import torch
from torch import nn

from elmo_plugin.engine.backends.base import Backend
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.word_cache import WordCache

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class TokenEncoder(nn.Module):
    """
    Words to vectors.

    `boundaries` is a buffer with the ids of the begin and the end of a sentence, `(2, ...)`, in the form of the ids
    that `forward` takes.
    """

    boundaries: torch.Tensor

    #: dimensions of a padded batch of ids: `(batch, tokens, characters)` or `(batch, tokens)`
    batch_ndim: int

    @abstractmethod
    def check(self, ids: torch.Tensor) -> None:
        """Raise `ShapeError` where a padded batch of ids cannot be for this model."""

    @abstractmethod
    def unique(self, ids: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Return the distinct words of `(tokens, ...)` and, for each token, the index of its word, `(tokens,)`."""

    @abstractmethod
    def encode(self, ids: torch.Tensor, backend: Optional[Backend] = None) -> torch.Tensor:
        """
        Return the vectors of words, `(words, projection)`, for ids `(words, ...)`.

        `backend` is what convolves; None for PyTorch's own convolution.
        """

    def forward(
        self, ids: torch.Tensor, cache: Optional[WordCache] = None, backend: Optional[Backend] = None
    ) -> torch.Tensor:
        """
        Encode tokens, each distinct word once.

        # Parameters

        ids : `(tokens, characters)` for a character CNN, `(tokens,)` for a word-level model; int64.
        cache : where vectors are kept; not used where there would be a gradient, nor by a table of word vectors.
        backend : as `encode` takes it.

        # Returns

        `(tokens, projection)`.
        """
        words, index = self.unique(ids)
        if cache is None or self.batch_ndim == 2 or torch.is_grad_enabled():
            return self.encode(words, backend)[index]
        return cache.vectors(words, partial(self.encode, backend=backend), self._weights())[index]

    def _weights(self) -> List[torch.Tensor]:
        """
        The weights that a call reads.

        By their names, because `functional_call` of older PyTorch replaces attributes, not parameters.
        """
        return [reduce(getattr, name.split("."), self) for name, _ in self.named_parameters()]  # type: ignore[misc]


def holds_integers(ids: torch.Tensor) -> bool:
    """Whether ids are whole numbers."""
    return ids.dtype not in _FLOATS and ids.dtype != torch.bool and not ids.is_complex()


def check_range(ids: torch.Tensor, size: int, kind: str) -> None:
    """Raise `ShapeError` where an id is not from 0 to below `size`; `kind` says in the message what the ids are."""
    if not ids.numel():
        return
    lowest, highest = int(ids.min()), int(ids.max())
    if lowest < 0 or highest >= size:
        raise ShapeError(
            f"ids run from {lowest} to {highest}, expected {kind} from 0 to {size - 1} for this biLM. "
            "Check that the token indexer and the biLM use the same weights."
        )
