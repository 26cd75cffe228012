"""The weights of one LSTM layer in one direction; what is computed with them is the backends' affair."""

from typing import Any

import torch
from torch import nn

from elmo_plugin.engine.backends.base import LstmWeights
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.options import LstmOptions


class LstmLayer(nn.Module):
    """
    The weights of one layer in one direction.

    Rows of the gates come in the order input, forget, candidate, output. The bias of the forget gate holds the 1
    that bilm-tf adds at run time; `forget_residual` is what rounding took from it then, so that files can be
    written back bit for bit. It takes no part in any computation.
    """

    forget_residual: torch.Tensor

    def __init__(self, input_dim: int, options: LstmOptions) -> None:
        super().__init__()
        gates = 4 * options.dim
        self.input_weight = nn.Parameter(torch.empty(gates, input_dim))
        self.recurrent_weight = nn.Parameter(torch.empty(gates, options.projection_dim))
        self.bias = nn.Parameter(torch.empty(gates))
        self.projection_weight = (
            nn.Parameter(torch.empty(options.projection_dim, options.dim)) if options.has_projection else None
        )
        self.register_buffer("forget_residual", torch.zeros(options.dim))
        #: where a backend keeps what it made of the weights; no part of any state
        self.memo: Derived[Any] = Derived()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights as TensorFlow's `LSTMCell` does: uniform (Glorot), the forget gate open."""
        gates, inputs = self.input_weight.shape
        outputs = self.recurrent_weight.shape[1]
        bound = (6.0 / (inputs + outputs + gates)) ** 0.5
        with torch.no_grad():
            self.input_weight.uniform_(-bound, bound)
            self.recurrent_weight.uniform_(-bound, bound)
            self.bias.zero_()
            self.bias[gates // 4 : gates // 2] = 1.0
            self.forget_residual.zero_()
            if self.projection_weight is not None:
                bound = (6.0 / sum(self.projection_weight.shape)) ** 0.5
                self.projection_weight.uniform_(-bound, bound)

    def weights(self) -> LstmWeights:
        """The weights in the form that backends take."""
        return LstmWeights(self.input_weight, self.recurrent_weight, self.bias, self.projection_weight)
