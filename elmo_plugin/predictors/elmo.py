"""The predictor that gives the layers of the biLM in a trained model."""

from typing import Any, List, Optional, cast

import torch
from allennlp.common import JsonDict
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.sentence_ids import SentenceIds


@Predictor.register("elmo")
class ElmoPredictor(Predictor):
    """
    The layers of a model's biLM, fine-tuned or not; the rest of the model is not run.

    Takes `{"sentence": "The cat sat ."}`, split at white space, or `{"tokens": ["The", "cat", "sat", "."]}`, and gives
    `{"tokens": [...], "layers": ...}`, layers x tokens x dim. Where the biLM has state "carried" it goes on from batch
    to batch. Registered as "elmo".

    # Parameters

    model : with one biLM, such as any model with the token embedder "elmo", or "elmo_language_model".
    dataset_reader : not used.

    # Raises

    `ConfigurationError` where the model has no biLM of this plugin, or several.
    """

    def __init__(self, model: Model, dataset_reader: DatasetReader, frozen: bool = True) -> None:
        super().__init__(model, dataset_reader, frozen)
        found = {name: module for name, module in model.named_modules() if isinstance(module, BiLm)}
        if len(found) != 1:
            raise ConfigurationError(
                f'predictor "elmo": the model has {len(found)} biLMs ({", ".join(found) or "none"}), expected one: '
                'that of the token embedder "elmo", or of the model "elmo_language_model".'
            )
        ((name, self._bilm),) = found.items()
        _prepare(model, name)
        vocabulary = _vocabulary(model, name) if self._bilm.options.needs_vocabulary else None
        self._to_ids = SentenceIds(self._bilm, vocabulary)

    @overrides(check_signature=False)
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        return self.predict_batch_json([inputs])[0]

    @overrides(check_signature=False)
    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        sentences = [_tokens(entry) for entry in inputs]
        with torch.no_grad():
            layers = self._bilm.run(self._to_ids(sentences)).output(with_boundaries=False).layers.float().cpu()
        return [
            {"tokens": tokens, "layers": layers[:, row, : len(tokens)].tolist()} for row, tokens in enumerate(sentences)
        ]


def _tokens(entry: JsonDict) -> List[str]:
    tokens, sentence = entry.get("tokens"), entry.get("sentence")
    if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
        return tokens
    if isinstance(sentence, str):
        return sentence.split()
    raise ConfigurationError(
        f'predictor "elmo": found {str(entry)[:200]}, expected {{"sentence": "The cat sat ."}} or '
        '{"tokens": ["The", "cat", "sat", "."]}.'
    )


def _prepare(model: Model, name: str) -> None:
    """Let the module around the biLM compute a warm state that the archive did not have: it is the loaded weights'."""
    owner = _around(model, name, "prepare")
    if owner is not None:
        owner.prepare()


def _vocabulary(model: Model, name: str) -> Optional[List[str]]:
    """The words of a word-level biLM, from the module around it that keeps them."""
    owner = _around(model, name, "weight_set")
    return None if owner is None else cast(Optional[List[str]], owner.weight_set().vocabulary)


def _around(model: Model, name: str, method: str) -> Any:
    """The innermost module around the one of this name that has the method, None if there is none."""
    parts = name.split(".")
    modules = dict(model.named_modules())
    for depth in range(len(parts) - 1, -1, -1):
        module = modules[".".join(parts[:depth])]
        if callable(getattr(module, method, None)):
            return module
    return None
