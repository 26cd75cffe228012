"""
One layer of the LSTM with highway connections of He et al. (2017), over a packed batch.

    a = W_x x_t + b_x   (rows, 6 cells), blocks i, f, g, o, r and the highway's input k
    a[:5] += W_h (mask * h_{t-1}) + b_h
    i, f, o, r = sigmoid of theirs;   g = tanh(a_g)
    c_t = i * g + f * c_{t-1}
    h_t = r * (o * tanh(c_t)) + (1 - r) * a_k

Without highway connections there are four blocks, and h_t = o * tanh(c_t). The mask is the recurrent (variational)
dropout: one for all steps of a row.

The input products of all steps are one product, a layer is one autograd node, and each weight gradient is one product
over all steps; see `elmo_plugin.engine.backends.cpu`, which does the same for the biLM.
"""

from typing import Any, Iterator, NamedTuple, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable

from elmo_plugin.engine.autocast import outside_autocast
from elmo_plugin.engine.backends.gates import activate_, gates_backward_
from elmo_plugin.engine.packing import Packing


class HighwayWeights(NamedTuple):
    """
    The weights of one layer, with 5 recurrent and 6 input blocks, or 4 and 4 without highway connections.

    # Parameters

    input : `(blocks * cells, inputs)`.
    input_bias : `(blocks * cells,)`, or None.
    recurrent : `(recurrent blocks * cells, cells)`.
    recurrent_bias : `(recurrent blocks * cells,)`.
    """

    input: torch.Tensor
    input_bias: Optional[torch.Tensor]
    recurrent: torch.Tensor
    recurrent_bias: torch.Tensor


def run_layer(
    inputs: torch.Tensor,
    weights: HighwayWeights,
    packing: Packing,
    reverse: bool = False,
    mask: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """
    Run one layer from a state of zeros, in the dtype of the weights, also inside autocast; differentiable once.

    # Parameters

    inputs : `(tokens, inputs)`, packed.
    reverse : the last token of each row first.
    mask : `(rows, cells)`, multiplied with the state in front of the recurrent product; None for none.

    # Returns

    `(tokens, cells)`, packed.
    """
    with outside_autocast(inputs.device):
        return _HighwayLayer.apply(packing, reverse, mask, inputs.to(weights.recurrent.dtype), *weights)


def _steps(packing: Packing, reverse: bool) -> Iterator[Tuple[int, slice]]:
    """The number of running rows and the place of each step, in the order of the direction."""
    for step in packing.order_of_steps(reverse):
        yield packing.sizes[step], packing.block(step)


class _HighwayLayer(torch.autograd.Function):
    """A whole layer as one node."""

    @staticmethod
    def forward(
        ctx: Any,
        packing: Packing,
        reverse: bool,
        mask: Optional[torch.Tensor],
        inputs: torch.Tensor,
        w_input: torch.Tensor,
        input_bias: Optional[torch.Tensor],
        w_recurrent: torch.Tensor,
        recurrent_bias: torch.Tensor,
    ) -> torch.Tensor:
        cells, recurrent = w_recurrent.shape[1], w_recurrent.t()
        bias = torch.cat([recurrent_bias, recurrent_bias.new_zeros(w_input.shape[0] - w_recurrent.shape[0])])
        products = torch.addmm(bias if input_bias is None else bias + input_bias, inputs, w_input.t())
        gates = products[:, : w_recurrent.shape[0]]
        new = inputs.new_empty
        previous = new((packing.tokens, cells))  # h before each token, masked
        cell_before, cell = new((packing.tokens, cells)), new((packing.tokens, cells))
        outputs = new((packing.tokens, cells))
        h, c = inputs.new_zeros((packing.rows, cells)), inputs.new_zeros((packing.rows, cells))
        has_highway = gates.shape[1] == 5 * cells
        for running, place in _steps(packing, reverse):
            previous[place] = h[:running] if mask is None else h[:running] * mask[:running]
            cell_before[place] = c[:running]
            a = gates[place].addmm_(previous[place], recurrent)
            i, f, g, o, *r = activate_(a, cells)
            torch.mul(f, c[:running], out=cell[place]).addcmul_(i, g)
            new_h = torch.mul(o, torch.tanh(cell[place]), out=outputs[place])
            if has_highway:
                new_h.sub_(products[place, 5 * cells :]).mul_(r[0]).add_(products[place, 5 * cells :])
            h[:running] = new_h
            c[:running] = cell[place]
        ctx.packing, ctx.reverse, ctx.has_bias = packing, reverse, input_bias is not None
        ctx.save_for_backward(mask, inputs, w_input, w_recurrent, products, previous, cell_before, cell)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_outputs: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        with outside_autocast(d_outputs.device):
            return _backward(ctx, d_outputs)


def _backward(ctx: Any, d_outputs: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
    mask, inputs, w_input, w_recurrent, products, previous, cell_before, cell = ctx.saved_tensors
    packing, cells = ctx.packing, w_recurrent.shape[1]
    d_products = torch.empty_like(products)
    d_gates = d_products[:, : w_recurrent.shape[0]]
    has_highway = d_gates.shape[1] == 5 * cells
    squashed = torch.tanh(cell)
    d_h = d_outputs.new_zeros((packing.rows, cells))
    d_c = d_outputs.new_zeros((packing.rows, cells))
    for running, place in _steps(packing, not ctx.reverse):
        i, f, g, o = products[place, : 4 * cells].split(cells, dim=1)
        d_out = d_h[:running] + d_outputs[place]
        if has_highway:
            r, k = products[place, 4 * cells : 5 * cells], products[place, 5 * cells :]
            d_r, d_k = d_products[place, 4 * cells : 5 * cells], d_products[place, 5 * cells :]
            torch.ops.aten.sigmoid_backward.grad_input(d_out * (o * squashed[place] - k), r, grad_input=d_r)
            torch.mul(d_out, 1 - r, out=d_k)
            d_out.mul_(r)
        d_blocks = d_products[place, : 4 * cells].split(cells, dim=1)
        gates_backward_(d_out, (i, f, g, o), cell_before[place], squashed[place], d_c[:running], d_blocks)
        torch.mm(d_gates[place], w_recurrent, out=d_h[:running])
        if mask is not None:
            d_h[:running].mul_(mask[:running])
    sums = d_products.sum(0)
    return (
        None,
        None,
        None,
        torch.mm(d_products, w_input) if ctx.needs_input_grad[3] else None,
        torch.mm(d_products.t(), inputs),
        sums if ctx.has_bias else None,
        torch.mm(d_gates.t(), previous),
        sums[: w_recurrent.shape[0]],
    )
