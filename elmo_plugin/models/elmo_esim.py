"""The paper's model for entailment."""

from typing import Any

from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules import FeedForward
from allennlp_models.pair_classification.models.esim import ESIM
from torch import nn


@Model.register("elmo_esim")
class ElmoEsim(ESIM):
    """
    AllenNLP's `esim` with the dropout behind its attention that Peters et al. (2018, supplement A.3) add along
    with ELMo.

    ELMo at the output of its first LSTM is a matter of `encoder`: the encoder `elmo_output`. Registered as "elmo_esim".

    # Parameters

    projection_feedforward : as in `esim`, behind the attention.
    attention_dropout : on the input of the projection.
    kwargs : the other parameters of `esim`.
    """

    def __init__(
        self, vocab: Vocabulary, projection_feedforward: FeedForward, attention_dropout: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(vocab, projection_feedforward=projection_feedforward, **kwargs)
        self._projection_feedforward = nn.Sequential(nn.Dropout(attention_dropout), projection_feedforward)
