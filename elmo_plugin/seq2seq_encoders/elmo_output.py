"""ELMo at the output of a task's encoder."""

from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides
from torch import nn


@Seq2SeqEncoder.register("elmo_output")
class ElmoOutputEncoder(Seq2SeqEncoder):
    """
    Lead ELMo around an encoder and append it to the encoder's output: [h; ELMo] of Peters et al. (2018), section 3.3.

    With a token embedder `elmo` of two mixes below, the first is input to the encoder, and the second, whose columns
    come last, is what goes around it. Registered as "elmo_output".

    # Parameters

    encoder : the task's encoder. Its input is what remains when the ELMo columns are taken out.
    elmo_dim : number of ELMo columns.
    elmo_start : the first ELMo column; None for the last `elmo_dim` columns. AllenNLP puts the embedders of a text
        field side by side in the alphabetical order of their keys, so with the keys "elmo" and "tokens" the second of
        two mixes starts at column `elmo_dim`.
    dropout : on the ELMo columns, in training, beside what the embedder applied.
    elmo_encoder : encodes the ELMo columns on their way, as in the paper's sentiment model; None for none.
    """

    def __init__(
        self,
        encoder: Seq2SeqEncoder,
        elmo_dim: int,
        elmo_start: Optional[int] = None,
        dropout: float = 0.0,
        elmo_encoder: Optional[Seq2SeqEncoder] = None,
    ) -> None:
        super().__init__()
        if elmo_dim < 1:
            raise ConfigurationError(f'"elmo_dim" is {elmo_dim}, expected the number of ELMo columns, at least 1.')
        others = encoder.get_input_dim()
        if elmo_start is not None and not 0 <= elmo_start <= others:
            raise ConfigurationError(
                f'"elmo_start" is {elmo_start}, expected 0 to {others}, because the encoder takes {others} of the '
                "input's columns."
            )
        if elmo_encoder is not None and elmo_encoder.get_input_dim() != elmo_dim:
            raise ConfigurationError(
                f'"elmo_encoder" takes {elmo_encoder.get_input_dim()} columns, expected {elmo_dim} ("elmo_dim").'
            )
        self._encoder = encoder
        self._elmo_encoder = elmo_encoder
        self._elmo_dim = elmo_dim
        self._start = others if elmo_start is None else elmo_start
        self._dropout = nn.Dropout(dropout)

    @overrides
    def get_input_dim(self) -> int:
        return self._encoder.get_input_dim() + self._elmo_dim

    @overrides
    def get_output_dim(self) -> int:
        elmo = self._elmo_dim if self._elmo_encoder is None else self._elmo_encoder.get_output_dim()
        return self._encoder.get_output_dim() + elmo

    @overrides
    def is_bidirectional(self) -> bool:
        """False always: with ELMo behind it the output is no longer two halves, one for each direction."""
        return False

    def forward(
        self,
        inputs: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        hidden_state: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        Encode, and append ELMo.

        # Parameters

        inputs : `(batch, steps, input_dim)`.
        mask : `(batch, steps)`, bool; None where nothing is padded.
        hidden_state : passed on to the encoder where it is given.

        # Returns

        `(batch, steps, output_dim)`: the encoder's output, then the ELMo columns, zero where the mask is false.

        # Raises

        `ConfigurationError` where the inputs have another width.
        """
        if inputs.shape[-1] != self.get_input_dim():
            raise ConfigurationError(
                f"elmo_output: the inputs have {inputs.shape[-1]} columns, expected {self.get_input_dim()}: "
                f"{self._encoder.get_input_dim()} for the encoder and {self._elmo_dim} (elmo_dim) to go around it. "
                'The token embedder elmo needs "num_mixes": 2.'
            )
        before, elmo, behind = inputs.split(
            [self._start, self._elmo_dim, inputs.shape[-1] - self._start - self._elmo_dim], dim=-1
        )
        arguments = (mask,) if hidden_state is None else (mask, hidden_state)
        encoded = self._encoder(torch.cat([before, behind], dim=-1), *arguments)
        elmo = self._dropout(elmo)
        if self._elmo_encoder is not None:
            elmo = self._elmo_encoder(elmo, mask)
        return torch.cat([encoded, elmo if mask is None else elmo * mask.unsqueeze(-1)], dim=-1)

    @overrides(check_signature=False)
    def reset_states(self, mask: Optional[torch.BoolTensor] = None) -> None:
        """Reset the states of a stateful encoder; see `Seq2SeqEncoder`."""
        for encoder in (self._encoder, self._elmo_encoder):
            if encoder is not None:
                encoder.reset_states(mask)
