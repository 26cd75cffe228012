"""
Ragged batches without padding, one time step after the other.

Rows are sorted by falling length, so that the rows that are still running at any step are the first ones. All
tokens of step 0 come first, then those of step 1, and so on; a step is therefore one contiguous block:

    lengths 3, 1, 2  ->  order 0, 2, 1  ->  blocks of 3, 2, 1 tokens
"""

from typing import Sequence, Tuple

import numpy as np
import torch

from elmo_plugin.engine.errors import ShapeError


class Packing:
    """
    The order in which the tokens of a batch are processed.

    # Parameters

    lengths : tokens of each row; 0 is allowed, such a row has no place in the packing.
    device : where the index tensors live.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device) -> None:
        row_lengths = np.asarray(lengths, dtype=np.int64)
        by_length = np.argsort(-row_lengths, kind="stable")
        order = by_length[: int((row_lengths > 0).sum())]
        sorted_lengths = row_lengths[order]
        self.steps = int(sorted_lengths[0]) if len(order) else 0
        #: rows of the batch that have tokens
        self.rows = len(order)
        #: running rows of each step
        self.sizes: Tuple[int, ...] = tuple(
            np.searchsorted(-sorted_lengths, -np.arange(self.steps), side="left").tolist()
        )
        #: first packed token of each step, and the number of all tokens as the last entry
        self.offsets: Tuple[int, ...] = (0,) + tuple(np.cumsum(self.sizes, dtype=np.int64).tolist())
        running = np.arange(self.steps)[:, None] < sorted_lengths[None, :]
        step_of, rank_of = np.nonzero(running)
        self._order = torch.from_numpy(order).to(device)
        self._row_of = torch.from_numpy(order[rank_of]).to(device)
        self._step_of = torch.from_numpy(step_of).to(device)

    @property
    def tokens(self) -> int:
        """Number of all tokens."""
        return self.offsets[-1]

    @property
    def order(self) -> torch.Tensor:
        """`(rows,)`, int64: the batch row at each rank."""
        return self._order

    @property
    def places(self) -> Tuple[torch.Tensor, torch.Tensor]:
        """Batch row and step of each packed token, `(tokens,)` each, int64."""
        return self._row_of, self._step_of

    def block(self, step: int) -> slice:
        """The packed tokens of one step."""
        return slice(self.offsets[step], self.offsets[step + 1])

    def order_of_steps(self, reverse: bool) -> Sequence[int]:
        """The steps in the order in which a direction processes them."""
        return range(self.steps - 1, -1, -1) if reverse else range(self.steps)

    def pack(self, padded: torch.Tensor) -> torch.Tensor:
        """
        Take the tokens out of a padded batch.

        # Parameters

        padded : `(batch, steps or more, ...)`.

        # Returns

        `(tokens, ...)`.
        """
        return padded[self._row_of, self._step_of]

    def unpack(self, packed: torch.Tensor, batch: int, steps: int) -> torch.Tensor:
        """
        Put packed tokens back into a padded batch.

        # Parameters

        packed : `(tokens, ...)`.
        batch, steps : the shape of the padded batch.

        # Returns

        `(batch, steps, ...)`, zero where there is no token.
        """
        if steps < self.steps:
            raise ShapeError(f"cannot unpack {self.steps} steps into a batch of {steps} steps.")
        padded = packed.new_zeros((batch, steps) + tuple(packed.shape[1:]))
        return padded.index_put((self._row_of, self._step_of), packed)
