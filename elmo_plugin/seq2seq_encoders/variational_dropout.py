"""Variational dropout around an encoder."""

from typing import Optional

import torch
from allennlp.modules import InputVariationalDropout
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides


@Seq2SeqEncoder.register("variational_dropout")
class VariationalDropoutEncoder(Seq2SeqEncoder):
    """
    Drop the same columns at every token of a sentence, in front of an encoder and behind it (Gal and Ghahramani 2016).

    Stands between the layers of AllenNLP's `compose`, and inside `elmo_output`, so that what goes around the encoder is
    spared. Registered as "variational_dropout".

    # Parameters

    encoder : any.
    input_dropout, output_dropout : probabilities.
    """

    def __init__(self, encoder: Seq2SeqEncoder, input_dropout: float = 0.0, output_dropout: float = 0.0) -> None:
        super().__init__()
        self._encoder = encoder
        self._input_dropout = InputVariationalDropout(input_dropout)
        self._output_dropout = InputVariationalDropout(output_dropout)

    @overrides
    def get_input_dim(self) -> int:
        return self._encoder.get_input_dim()

    @overrides
    def get_output_dim(self) -> int:
        return self._encoder.get_output_dim()

    @overrides
    def is_bidirectional(self) -> bool:
        return self._encoder.is_bidirectional()

    def forward(self, inputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        Encode `(batch, steps, input_dim)` into `(batch, steps, output_dim)`; `mask` is passed on.
        """
        return self._output_dropout(self._encoder(self._input_dropout(inputs), mask))

    @overrides(check_signature=False)
    def reset_states(self, mask: Optional[torch.BoolTensor] = None) -> None:
        """Reset the states of a stateful encoder."""
        self._encoder.reset_states(mask)
