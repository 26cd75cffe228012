"""The encoder of He et al. (2017) for semantic roles, without work on padding and without a graph per step."""

from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.modules.stacked_alternating_lstm import StackedAlternatingLstm
from allennlp.nn.util import get_dropout_mask
from overrides import overrides

from elmo_plugin.adapters.masks import lengths_of
from elmo_plugin.engine.highway_lstm import HighwayWeights, run_layer
from elmo_plugin.engine.packing import Packing


@Seq2SeqEncoder.register("packed_alternating_lstm")
class PackedAlternatingLstmEncoder(Seq2SeqEncoder):
    """
    Stack LSTMs with highway connections, every second one of which reads backward.

    The numbers, the initial weights, the names of the parameters and, for the same random numbers, the dropout are
    those of AllenNLP's `alternating_lstm`, so that archives of either load into the other; that one runs a Python step
    with an autograd graph per token. Registered as "packed_alternating_lstm".

    # Parameters

    input_size, hidden_size, num_layers : sizes, at least 1.
    recurrent_dropout_probability : variational dropout of the state, one mask for all tokens of a sentence and layer.
    use_highway : highway connections around each layer.
    use_input_projection_bias : a bias beside the input weights too; what AllenNLP's old archives have.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        recurrent_dropout_probability: float = 0.0,
        use_highway: bool = True,
        use_input_projection_bias: bool = True,
    ) -> None:
        super().__init__()
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if size < 1:
                raise ConfigurationError(f'packed_alternating_lstm: "{name}" is {size}, expected at least 1.')
        if not 0 <= recurrent_dropout_probability < 1:
            raise ConfigurationError(
                f'"recurrent_dropout_probability" is {recurrent_dropout_probability}, expected at least 0 and below 1.'
            )
        # Holds the parameters; it is never called.
        self._module = StackedAlternatingLstm(
            input_size=input_size,
            hidden_size=hidden_size,
            num_layers=num_layers,
            recurrent_dropout_probability=recurrent_dropout_probability,
            use_highway=use_highway,
            use_input_projection_bias=use_input_projection_bias,
        )
        self._dropout = recurrent_dropout_probability

    @overrides
    def get_input_dim(self) -> int:
        return self._module.input_size

    @overrides
    def get_output_dim(self) -> int:
        return self._module.hidden_size

    @overrides
    def is_bidirectional(self) -> bool:
        """False: the directions alternate, so that the output is not two halves."""
        return False

    def forward(self, inputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        Encode a padded batch.

        # Parameters

        inputs : `(batch, steps, input_size)`.
        mask : `(batch, steps)`, bool, true for the first steps of each row; None where nothing is padded.

        # Returns

        `(batch, steps, hidden_size)`, zero where the mask is false.

        # Raises

        `ShapeError` where the inputs have another width, or padding stands in front of or between tokens.
        """
        packing = Packing(lengths_of("packed_alternating_lstm", inputs, self.get_input_dim(), mask), inputs.device)
        batch, steps = inputs.shape[:2]
        hidden = packing.pack(inputs)
        for index in range(self._module.num_layers):
            layer = getattr(self._module, f"layer_{index}")
            dropped = None
            if self._dropout > 0 and self.training:
                ones = hidden.new_ones((packing.rows, self._module.hidden_size))
                dropped = get_dropout_mask(self._dropout, ones)
            cell = layer.cell
            weights = HighwayWeights(
                cell.input_linearity.weight,
                cell.input_linearity.bias,
                cell.state_linearity.weight,
                cell.state_linearity.bias,
            )
            hidden = run_layer(hidden, weights, packing, reverse=not layer.go_forward, mask=dropped)
        return packing.unpack(hidden, batch, steps)
