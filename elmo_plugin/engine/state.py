"""
Where a biLM starts each call.

- "carried": from where the last call ended, row by row, as the paper's and AllenNLP's biLM do. The same sentence
  gives other vectors on the next call.
- "reset": from zero. A sentence's vectors depend on nothing but the sentence.
- "warm": from one stored state, the mean state behind ordinary text. Depends on nothing but the sentence either, and
  stays close to the states that the biLM met in training.
"""

from typing import Optional

import torch
from torch import nn

from elmo_plugin.engine.errors import EngineError, OptionsError
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.options import LstmOptions

CARRIED = "carried"
RESET = "reset"
WARM = "warm"
POLICIES = (CARRIED, RESET, WARM)


def check_policy(policy: str) -> str:
    """Return the policy, or raise `OptionsError` where there is none of that name."""
    if policy not in POLICIES:
        raise OptionsError(f"unknown state {policy!r}; choose one of {list(POLICIES)}.")
    return policy


class WarmState(nn.Module):
    """
    One stored start state as buffers `hidden` `(layers, 2 * projection)` and `cell` `(layers, 2 * cells)`.

    Not a number until it is set, so that a state that was never computed cannot go unnoticed.
    """

    hidden: torch.Tensor
    cell: torch.Tensor

    def __init__(self, options: LstmOptions) -> None:
        super().__init__()
        layers = options.n_layers
        self.register_buffer("hidden", torch.full((layers, 2 * options.projection_dim), float("nan")))
        self.register_buffer("cell", torch.full((layers, 2 * options.dim), float("nan")))

    def clear(self) -> None:
        """Forget the stored state."""
        self.hidden.fill_(float("nan"))
        self.cell.fill_(float("nan"))

    @property
    def is_set(self) -> bool:
        return not bool(self.hidden.isnan().any() or self.cell.isnan().any())

    def set(self, hidden: torch.Tensor, cell: torch.Tensor) -> None:
        """Store a state of the buffers' shapes."""
        with torch.no_grad():
            self.hidden.copy_(hidden)
            self.cell.copy_(cell)

    def state(self, rows: int, like: torch.Tensor) -> LstmState:
        """The stored state for each of `rows` rows."""
        if not self.is_set:
            raise EngineError(
                'the biLM has state "warm", but no warm state was computed or loaded. '
                "Call elmo_plugin.engine.warm.warm_up(bilm) once, or load weights that bring one."
            )
        return LstmState(
            self.hidden.to(like)[:, None].expand(-1, rows, -1),
            self.cell.to(like)[:, None].expand(-1, rows, -1),
        )


class StateKeeper:
    """
    Gives each call its first state and keeps its last one where the policy asks for it.

    What is kept is no part of a state dict: a model that was saved and loaded begins anew.

    # Parameters

    policy : one of `POLICIES`.
    warm : the stored state; needed by the policy "warm".
    """

    def __init__(self, policy: str, warm: Optional[WarmState] = None) -> None:
        self.policy = check_policy(policy)
        self._warm = warm
        #: what was carried, for the largest batch so far
        self.kept: Optional[LstmState] = None

    def reset(self) -> None:
        """Forget what was carried."""
        self.kept = None

    def begin(self, zeros: LstmState) -> LstmState:
        """
        Return the state before a call.

        # Parameters

        zeros : the zero state of the call's rows; gives number of rows, device and dtype.
        """
        rows = zeros.rows
        if self.policy == WARM:
            assert self._warm is not None
            return self._warm.state(rows, zeros.hidden)
        if self.policy == RESET or self.kept is None:
            return zeros
        kept = self.kept.to(zeros.hidden)
        known = min(rows, kept.rows)
        return LstmState(
            hidden=torch.cat([kept.hidden[:, :known], zeros.hidden[:, known:]], dim=1),
            cell=torch.cat([kept.cell[:, :known], zeros.cell[:, known:]], dim=1),
        )

    def end(self, begun: LstmState, final: LstmState, ran: torch.Tensor) -> None:
        """
        Keep the state behind a call.

        Rows of the batch without text, and rows of earlier, larger batches beyond it, keep the state they had.

        # Parameters

        begun : what `begin` returned, for all rows of the batch.
        final : of the rows that ran.
        ran : their places in the batch, `(n,)` int64.
        """
        if self.policy != CARRIED:
            return
        begun, final = begun.detach(), final.detach()
        hidden = begun.hidden.index_copy(1, ran, final.hidden)
        cell = begun.cell.index_copy(1, ran, final.cell)
        if self.kept is not None and self.kept.rows > begun.rows:
            beyond = self.kept.to(hidden)
            hidden = torch.cat([hidden, beyond.hidden[:, begun.rows :]], dim=1)
            cell = torch.cat([cell, beyond.cell[:, begun.rows :]], dim=1)
        self.kept = LstmState(hidden, cell)
