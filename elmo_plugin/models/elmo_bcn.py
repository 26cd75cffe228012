"""The paper's model for sentiment."""

from typing import Any, Dict

from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder
from allennlp_models.classification.models.biattentive_classification_network import BiattentiveClassificationNetwork
from overrides import overrides

from elmo_plugin.models._tokens import require_tokens


@Model.register("elmo_bcn")
class ElmoBcn(BiattentiveClassificationNetwork):
    """
    AllenNLP's `bcn` (McCann et al. 2017) with any encoder in the place of its first feed-forward layer.

    ELMo at the output of the first biLSTM has to get past that layer: both are then encoders `elmo_output`, the second
    with an `elmo_encoder`, which is the second biLSTM of Peters et al. (2018, supplement A.8). Registered as
    "elmo_bcn".

    # Parameters

    pre_encode_feedforward : encodes each token by itself, such as the encoder `feedforward`.
    kwargs : the other parameters of `bcn`.
    """

    default_predictor = "text_classifier"

    def __init__(self, vocab: Vocabulary, pre_encode_feedforward: Seq2SeqEncoder, **kwargs: Any) -> None:
        super().__init__(vocab, pre_encode_feedforward=pre_encode_feedforward, **kwargs)

    @overrides(check_signature=False)
    def forward(self, tokens: TextFieldTensors, **kwargs: Any) -> Dict[str, Any]:
        """
        As of `bcn`.

        # Raises

        `ConfigurationError` where a text has no token: it would have a label, of probabilities that are no numbers.
        """
        require_tokens("elmo_bcn", text=tokens)
        return super().forward(tokens, **kwargs)
