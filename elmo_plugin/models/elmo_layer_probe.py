"""What the layers of a biLM know, by one linear classifier on each of them."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import TokenEmbedder
from allennlp.training.metrics import CategoricalAccuracy
from overrides import overrides
from torch import nn

from elmo_plugin.token_embedders.elmo import ElmoEmbedder


@Model.register("elmo_layer_probe")
class ElmoLayerProbe(Model):
    """
    Tag tokens by a linear classifier on every layer of a frozen biLM, all at once (Peters et al. 2018, section 5.3).

    The classifiers share the biLM and nothing else: their losses are added, so that with Adam each learns as it would
    alone. Registered as "elmo_layer_probe".

    # Parameters

    elmo : the token embedder "elmo", of which the layers are taken; its mixes are not used.
    label_namespace : of the tags.

    # Raises

    `ConfigurationError` where the embedder is another one, or the biLM is tuned.
    """

    def __init__(self, vocab: Vocabulary, elmo: TokenEmbedder, label_namespace: str = "labels", **kwargs: Any) -> None:
        super().__init__(vocab, **kwargs)
        if not isinstance(elmo, ElmoEmbedder):
            raise ConfigurationError(f'"elmo" is a {type(elmo).__name__}, expected the token embedder "elmo".')
        bilm = elmo.elmo.bilm
        if bilm.fine_tune:
            raise ConfigurationError('"elmo" has "fine_tune": true; a probe asks what a frozen biLM knows.')
        for parameter in elmo.parameters():
            parameter.requires_grad_(False)
        self.elmo = elmo
        self._namespace = label_namespace
        tags = vocab.get_vocab_size(label_namespace)
        self.classifiers = nn.ModuleList(nn.Linear(bilm.output_dim, tags) for _ in range(bilm.num_layers))
        self._accuracies = [CategoricalAccuracy() for _ in self.classifiers]

    def forward(
        self,
        tokens: TextFieldTensors,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> Dict[str, torch.Tensor]:
        """
        Tag a batch.

        # Parameters

        tokens : of one token indexer, "elmo".
        tags : `(batch, tokens)`; None where they are not known.
        metadata : not used.

        # Returns

        `predictions` `(batch, tokens, layers)` int64, `mask` `(batch, tokens)` and, with tags, the `loss`: the sum over
        the layers of the mean over tokens.
        """
        if len(tokens) != 1:
            raise ConfigurationError(f'elmo_layer_probe: token indexers {sorted(tokens)}, expected "elmo" alone.')
        (ids,) = tokens.values()
        output = self.elmo.raw_layers(**ids)
        logits = [classify(layer) for classify, layer in zip(self.classifiers, output.layers)]
        result = {"predictions": torch.stack([scores.argmax(-1) for scores in logits], dim=-1), "mask": output.mask}
        if tags is not None:
            losses = [nn.functional.cross_entropy(scores[output.mask], tags[output.mask]) for scores in logits]
            result["loss"] = torch.stack(losses).sum()
            for accuracy, scores in zip(self._accuracies, logits):
                accuracy(scores, tags, output.mask)
        return result

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """Add `tags`: for each sentence and layer the tag of each token."""
        names = self.vocab.get_index_to_token_vocabulary(self._namespace)
        lengths = output_dict["mask"].sum(dim=1).tolist()
        output_dict["tags"] = [
            [[names[tag] for tag in layer] for layer in rows[:length].t().tolist()]
            for rows, length in zip(output_dict["predictions"], lengths)
        ]
        return output_dict

    @overrides(check_signature=False)
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """`accuracy_layer_N` of each layer, and `accuracy`, their mean."""
        found = [accuracy.get_metric(reset) for accuracy in self._accuracies]
        metrics = {f"accuracy_layer_{number}": value for number, value in enumerate(found)}
        metrics["accuracy"] = sum(found) / len(found)
        return metrics
