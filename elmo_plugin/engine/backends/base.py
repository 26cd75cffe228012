"""
What a backend of the LSTM stack has to do.

Notation, the same in every backend (Sak et al. 2014; the clips are those of TensorFlow's `LSTMCell`):

    a = W_input x_t + W_recurrent h_{t-1} + bias          (rows, 4 cells), blocks i, f, g, o
    i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o);   g = tanh(a_g)
    c_t = clip(i * g + f * c_{t-1}, cell_clip)            (rows, cells)
    h_t = clip(W_projection (o * tanh(c_t)), proj_clip)   (rows, projection)

Without a projection h_t = o * tanh(c_t), and `proj_clip` has no effect.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence, TypeVar

import torch
from torch.nn import functional as F

from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.packing import Packing

T = TypeVar("T")

#: what the products of weights in float32 may be made in; "float32" leaves the weights' own dtype alone
PRECISIONS = (FLOAT32, FLOAT16, INT8) = ("float32", "float16", "int8")


@dataclass(frozen=True)
class LstmWeights:
    """
    The weights of one layer in one direction.

    # Parameters

    input : `(4 cells, inputs)`.
    recurrent : `(4 cells, projection)`.
    bias : `(4 cells,)`, the 1 of the forget gate included.
    projection : `(projection, cells)`; None where a layer's output is as wide as its cell.
    """

    input: torch.Tensor
    recurrent: torch.Tensor
    bias: torch.Tensor
    projection: Optional[torch.Tensor]


@dataclass(frozen=True)
class Convolution:
    """
    Filters of one width over the characters of a word.

    # Parameters

    weight : `(filters, channels, width)`.
    bias : `(filters,)`, or None.
    """

    weight: torch.Tensor
    bias: Optional[torch.Tensor]


@dataclass(frozen=True)
class LstmJob:
    """
    One layer in one direction over one packed batch.

    # Parameters

    inputs : `(tokens, inputs)`, packed.
    hidden : `(rows, projection)`, the state before the first token that is processed, in the packing's order.
    cell : `(rows, cells)`, likewise.
    weights : the layer's weights.
    reverse : process the last token of each row first.
    memo : where a backend keeps, from call to call, what it made of the weights; None where they are used once.
    precision : of the products, one of `PRECISIONS`; counts without gradients only.
    """

    inputs: torch.Tensor
    hidden: torch.Tensor
    cell: torch.Tensor
    weights: LstmWeights
    reverse: bool
    memo: Optional[Derived[Any]] = None
    precision: str = FLOAT32

    def prepared(self, make: Callable[[], T], *settings: Any) -> T:
        """Return what `make` makes of the weights' matrices, from the memo where there is one, under `settings`."""
        if self.memo is None:
            return make()
        matrices = (self.weights.input, self.weights.recurrent, self.weights.projection)
        return self.memo.get(make, [tensor for tensor in matrices if tensor is not None], *settings)


@dataclass(frozen=True)
class LstmResult:
    """
    What a job gives.

    # Parameters

    outputs : `(tokens, projection)`, packed as the inputs.
    hidden, cell : `(rows, ...)`, the state of each row after its last processed token.
    """

    outputs: torch.Tensor
    hidden: torch.Tensor
    cell: torch.Tensor


@dataclass(frozen=True)
class Clips:
    """Bounds on the absolute values of the cell state and of the projected output; None for no bound."""

    cell: Optional[float]
    projection: Optional[float]


class Backend(ABC):
    """
    A way to compute the LSTM stack and the convolutions in front of it. All give the same numbers, within the tolerance
    of the dtype, but for what `rounding` tells apart.
    """

    name: str

    @abstractmethod
    def unavailable_reason(self) -> Optional[str]:
        """Say why this backend cannot run on this machine; None where it can."""

    @abstractmethod
    def supports(self, device: torch.device) -> bool:
        """Whether tensors on `device` can be processed."""

    def refuses(self, precision: str) -> Optional[str]:
        """Say why products cannot be made in a precision of `PRECISIONS`; None where they can."""
        return None if precision == FLOAT32 else f"the backend {self.name!r} computes in the dtype of the weights."

    def rounding(self, precision: str) -> str:
        """
        Name the way in which products are rounded: what two backends call the same is the same numbers, within the
        tolerance of the dtype. Int8 is as each backend does it.
        """
        return f"{precision} of {self.name}" if precision == INT8 else precision

    @abstractmethod
    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        """
        Run independent jobs over the same packing; they may run side by side.

        Differentiable with respect to inputs, states and weights where gradients are enabled.
        """

    def strongest(
        self, embedded: torch.Tensor, convolutions: Sequence[Convolution], memo: Derived[Any]
    ) -> torch.Tensor:
        """
        Return the largest value of each filter over all windows of a word.

        # Parameters

        embedded : `(words, characters, channels)`, at least as many characters as the widest filter.
        convolutions : the filters.
        memo : where the backend keeps, from call to call, what it made of them.

        # Returns

        `(words, filters)`, those of the first convolution first. Differentiable.
        """
        channels_first = embedded.transpose(1, 2)
        return torch.cat(
            [F.conv1d(channels_first, each.weight, each.bias).max(dim=2).values for each in convolutions], dim=1
        )
