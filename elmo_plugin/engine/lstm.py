"""The stack of projected, clipped LSTMs in both directions, with skip connections between its layers."""

from dataclasses import dataclass
from typing import ContextManager, Iterator, List, Optional, Sequence, Tuple, cast

import torch
from torch import nn
from torch.nn import functional as F

from elmo_plugin.engine import backends
from elmo_plugin.engine.autocast import outside_autocast
from elmo_plugin.engine.backends.base import FLOAT32, PRECISIONS, Clips, LstmJob, LstmResult
from elmo_plugin.engine.backends.cuda.precision import exact_products
from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError
from elmo_plugin.engine.lstm_layer import LstmLayer
from elmo_plugin.engine.options import LstmOptions
from elmo_plugin.engine.packing import Packing


def full_precision(device: torch.device) -> ContextManager[None]:
    """Let everything run in the dtype of the weights, without TF32, also where the caller is inside autocast."""
    return exact_products(device) if device.type == "cuda" else outside_autocast(device)


@dataclass(frozen=True)
class LstmState:
    """
    The state of every layer, the forward direction in the first half of the last dimension.

    # Parameters

    hidden : `(layers, rows, 2 * projection)`, before the skip connections.
    cell : `(layers, rows, 2 * cells)`.
    """

    hidden: torch.Tensor
    cell: torch.Tensor

    @property
    def rows(self) -> int:
        return self.hidden.shape[1]

    def detach(self) -> "LstmState":
        """The same numbers without their history."""
        return LstmState(self.hidden.detach(), self.cell.detach())

    def to(self, like: torch.Tensor) -> "LstmState":
        """The same numbers on the device and in the dtype of `like`."""
        return LstmState(self.hidden.to(like), self.cell.to(like))

    def select(self, rows: torch.Tensor) -> "LstmState":
        """The state of the given rows, `(n,)` int64."""
        return LstmState(self.hidden.index_select(1, rows), self.cell.index_select(1, rows))

    def replace(self, rows: torch.Tensor, state: "LstmState") -> "LstmState":
        """The same with other states of the given rows, `(n,)` int64."""
        return LstmState(
            self.hidden.to(state.hidden).index_copy(1, rows, state.hidden),
            self.cell.to(state.cell).index_copy(1, rows, state.cell),
        )


class BiLstm(nn.Module):
    """
    The stack: each direction has layers of its own, and the directions meet only in the output.

    # Parameters

    options : sizes, clips, skip connections.
    input_dim : width of the inputs; None for `options.projection_dim`.
    backend : "auto", or a name of `elmo_plugin.engine.backends`, which is then used or refused.
    precision : of the products where no gradient is needed: "float32", which is exact, or "float16" or "int8", where
        the backend has them.
    """

    def __init__(
        self,
        options: LstmOptions,
        input_dim: Optional[int] = None,
        backend: str = backends.AUTO,
        precision: str = FLOAT32,
    ) -> None:
        super().__init__()
        if precision not in PRECISIONS:
            raise OptionsError(f"unknown precision {precision!r}; choose one of {list(PRECISIONS)}.")
        self.precision = precision
        self.options = options
        self.input_dim = options.projection_dim if input_dim is None else input_dim
        self.forward_layers = self._make_layers()
        self.backward_layers = self._make_layers()
        self._clips = Clips(cell=options.cell_clip, projection=options.proj_clip)
        self._backend = None if backend == backends.AUTO else self._checked(backends.get(backend))
        self._chosen: Optional[Tuple[torch.device, backends.Backend]] = None
        if self._backend is None:
            self.backend_for(next(self.parameters()).device)  # so that the log of a start says what it will be

    def _make_layers(self) -> nn.ModuleList:
        dims = [self.input_dim] + [self.options.projection_dim] * (self.options.n_layers - 1)
        return nn.ModuleList(LstmLayer(dim, self.options) for dim in dims)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for layer in self._each_layer():
            layer.reset_parameters()

    def clear_residuals(self) -> None:
        """Forget what rounding took from the forget biases: it belonged to other weights."""
        for layer in self._each_layer():
            layer.forget_residual.zero_()

    def _each_layer(self) -> Iterator[LstmLayer]:
        for layers in (self.forward_layers, self.backward_layers):
            yield from (cast(LstmLayer, layer) for layer in layers)

    def zero_state(self, rows: int, like: torch.Tensor) -> LstmState:
        """The state of rows before any text, on the device of `like` and in the dtype of the weights."""
        layers = self.options.n_layers
        return LstmState(
            hidden=like.new_zeros((layers, rows, 2 * self.options.projection_dim), dtype=self._dtype),
            cell=like.new_zeros((layers, rows, 2 * self.options.dim), dtype=self._dtype),
        )

    @property
    def _dtype(self) -> torch.dtype:
        return cast(LstmLayer, self.forward_layers[0]).bias.dtype

    def forward(self, inputs: torch.Tensor, packing: Packing, state: LstmState) -> Tuple[List[torch.Tensor], LstmState]:
        """
        Run both directions over packed rows, the backward direction from the end of each row.

        # Parameters

        inputs : `(tokens, input_dim)`, packed.
        packing : where the rows and steps are.
        state : of the packing's rows in its order; each direction starts from it at its own end of the row.

        # Returns

        Output of each layer, `(tokens, 2 * projection)`, skip connection added; and the state behind the last token
        that each direction processed.
        """
        outputs, final = self._run(inputs, inputs, packing, state, backward_reversed=True, dropout=0.0)
        return [torch.cat(pair, dim=1) for pair in outputs], final

    def run_streams(
        self,
        forward: torch.Tensor,
        backward: torch.Tensor,
        state: Optional[LstmState] = None,
        dropout: float = 0.0,
        lengths: Optional[Sequence[int]] = None,
    ) -> Tuple[torch.Tensor, torch.Tensor, LstmState]:
        """
        Run each direction from left to right over a stream of its own: bilm-tf's scheme for training.

        # Parameters

        forward, backward : `(rows, steps, input_dim)`; the text of `backward` is reversed already.
        state : where the streams stand; None for their beginning.
        dropout : probability on the input of every layer, the skip connection's share included, as in bilm-tf.
        lengths : tokens of each row, where not all rows are full. A row's state is that behind its last token.

        # Returns

        Outputs of the last layer, `(rows, steps, projection)` each, zero behind the end of a row, and the state behind
        the last step.
        """
        rows, steps = forward.shape[:2]
        if state is None:
            state = self.zero_state(rows, forward)
        if lengths is not None and min(lengths) < steps:
            return self._run_ragged(forward, backward, state, dropout, lengths)
        packing = Packing([steps] * rows, forward.device)
        inputs = [stream.transpose(0, 1).reshape(rows * steps, self.input_dim) for stream in (forward, backward)]
        outputs, final = self._run(inputs[0], inputs[1], packing, state, backward_reversed=False, dropout=dropout)
        width = self.options.projection_dim
        last = [stream.view(steps, rows, width).transpose(0, 1) for stream in outputs[-1]]
        return last[0], last[1], final

    def _run_ragged(
        self,
        forward: torch.Tensor,
        backward: torch.Tensor,
        state: LstmState,
        dropout: float,
        lengths: Sequence[int],
    ) -> Tuple[torch.Tensor, torch.Tensor, LstmState]:
        rows, steps = forward.shape[:2]
        packing = Packing(lengths, forward.device)
        outputs, final = self._run(
            packing.pack(forward),
            packing.pack(backward),
            packing,
            state.select(packing.order),
            backward_reversed=False,
            dropout=dropout,
        )
        last = [packing.unpack(stream, rows, steps) for stream in outputs[-1]]
        return last[0], last[1], state.replace(packing.order, final)

    def _run(
        self,
        forward: torch.Tensor,
        backward: torch.Tensor,
        packing: Packing,
        state: LstmState,
        backward_reversed: bool,
        dropout: float,
    ) -> Tuple[List[Tuple[torch.Tensor, torch.Tensor]], LstmState]:
        outputs: List[Tuple[torch.Tensor, torch.Tensor]] = []
        finals: List[List[LstmResult]] = []
        inputs = (forward.to(self._dtype), backward.to(self._dtype))
        with full_precision(forward.device):
            for index in range(self.options.n_layers):
                if dropout:
                    inputs = (F.dropout(inputs[0], dropout), F.dropout(inputs[1], dropout))
                results = self._run_layer(index, inputs, packing, state, backward_reversed)
                produced = (results[0].outputs, results[1].outputs)
                if self.options.use_skip_connections and index > 0:
                    produced = (produced[0] + inputs[0], produced[1] + inputs[1])
                outputs.append(produced)
                finals.append(results)
                inputs = produced
            final = LstmState(
                hidden=torch.stack([torch.cat([result.hidden for result in pair], dim=1) for pair in finals]),
                cell=torch.stack([torch.cat([result.cell for result in pair], dim=1) for pair in finals]),
            )
        return outputs, final

    def _run_layer(
        self,
        index: int,
        inputs: Tuple[torch.Tensor, torch.Tensor],
        packing: Packing,
        state: LstmState,
        backward_reversed: bool,
    ) -> List[LstmResult]:
        hidden = state.hidden[index].chunk(2, dim=1)
        cell = state.cell[index].chunk(2, dim=1)
        layers = [cast(LstmLayer, side[index]) for side in (self.forward_layers, self.backward_layers)]
        jobs = [
            LstmJob(inputs[side], hidden[side], cell[side], layer.weights(), reverse, layer.memo, self.precision)
            for side, (layer, reverse) in enumerate(zip(layers, (False, backward_reversed)))
        ]
        return self.backend_for(inputs[0].device).run(jobs, packing, self._clips)

    def backend_for(self, device: torch.device) -> backends.Backend:
        """
        The backend that tensors on `device` are computed by.

        # Raises

        `BackendUnavailableError` where the one that was asked for cannot, or where the precision cannot be had.
        """
        if self._backend is not None:
            if not self._backend.supports(device):
                raise BackendUnavailableError(
                    f"backend {self._backend.name!r} was asked for, but the tensors are on {device}, which it does "
                    f'not support. Move the model, or use backend "{backends.AUTO}".'
                )
            return self._backend
        if self._chosen is None or self._chosen[0] != device:
            self._chosen = (device, self._checked(backends.choose(device)))
        return self._chosen[1]

    def _checked(self, backend: backends.Backend) -> backends.Backend:
        reason = backend.refuses(self.precision)
        if reason is not None:
            raise BackendUnavailableError(
                f"precision {self.precision!r} cannot be had here: {reason} Leave it out, or convert the weights, as "
                "model.half() does."
            )
        return backend
