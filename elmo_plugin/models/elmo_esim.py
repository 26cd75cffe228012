"""The paper's model for entailment."""

from typing import Any, Dict

from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import FeedForward
from allennlp_models.pair_classification.models.esim import ESIM
from overrides import overrides
from torch import nn

from elmo_plugin.models._tokens import require_tokens


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

    @overrides(check_signature=False)
    def forward(self, premise: TextFieldTensors, hypothesis: TextFieldTensors, **kwargs: Any) -> Dict[str, Any]:
        """
        As of `esim`.

        # Raises

        `ConfigurationError` where a premise or a hypothesis has no token: its mean would be 0 / 0, and the label the
            first one.
        """
        require_tokens("elmo_esim", kwargs.get("metadata"), premise=premise, hypothesis=hypothesis)
        return super().forward(premise, hypothesis, **kwargs)
