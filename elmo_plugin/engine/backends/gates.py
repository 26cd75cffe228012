"""What the steps of several LSTMs have in common, in PyTorch's own operators and in place; the notation is `base`'s."""

from typing import Optional, Sequence, Tuple

import torch


def activate_(gates: torch.Tensor, cells: int) -> Tuple[torch.Tensor, ...]:
    """
    Apply the functions of the gates.

    # Parameters

    gates : `(rows, blocks * cells)`, changed: the third block goes through tanh, all others through the sigmoid.
    cells : of a block.

    # Returns

    The blocks as views: i, f, g, o, and what is behind them.
    """
    gates[:, : 2 * cells].sigmoid_()
    gates[:, 2 * cells : 3 * cells].tanh_()
    gates[:, 3 * cells :].sigmoid_()
    return gates.split(cells, dim=1)


def clip_(x: torch.Tensor, bound: Optional[float]) -> torch.Tensor:
    """Clip to plus and minus `bound`; None for no bound."""
    return x if bound is None else x.clamp_(-bound, bound)


def gates_backward_(
    d_emitted: torch.Tensor,
    gates: Sequence[torch.Tensor],
    previous_cell: torch.Tensor,
    squashed: torch.Tensor,
    d_cell: torch.Tensor,
    d_gates: Sequence[torch.Tensor],
    passes: Optional[torch.Tensor] = None,
) -> None:
    """
    Go back through the gates and the cell state of a step: d sigmoid(x) = y (1 - y), d tanh(x) = 1 - y ** 2.

    # Parameters

    d_emitted : `(rows, cells)`, gradient of o * tanh(c); its memory is used for something else.
    gates : i, f, g, o behind their functions, `(rows, cells)` each.
    previous_cell : `(rows, cells)`, in front of the step.
    squashed : `(rows, cells)`, tanh of the cell state behind it.
    d_cell : `(rows, cells)`, gradient of the cell state behind the step; is changed to that in front of it.
    d_gates : four `(rows, cells)`, for the gradients in front of the functions.
    passes : `(rows, cells)` bool, where the cell state was not clipped; None for everywhere.
    """
    sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
    i, f, g, o = gates
    d_i, d_f, d_g, d_o = d_gates
    sigmoid_backward.grad_input(d_emitted * squashed, o, grad_input=d_o)
    d_c = tanh_backward(d_emitted.mul_(o), squashed).add_(d_cell)
    if passes is not None:
        d_c.mul_(passes)
    sigmoid_backward.grad_input(d_c * g, i, grad_input=d_i)
    sigmoid_backward.grad_input(d_c * previous_cell, f, grad_input=d_f)
    tanh_backward.grad_input(d_c * i, g, grad_input=d_g)
    torch.mul(d_c, f, out=d_cell)
