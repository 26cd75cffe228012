"""The sentiment model is AllenNLP's, and ELMo gets past its first layer."""

import copy

import pytest
import torch

pytest.importorskip("allennlp_models.classification")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DatasetReader, Instance, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import Model

from tests import task_data

WORD, HIDDEN, ELMO = 6, 4, 5


@pytest.fixture
def instances(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(task_data.TREES)
    return list(DatasetReader.from_params(Params({"type": "sst_phrases"})).read(str(path)))


def lstm(inputs):
    return {"type": "lstm", "input_size": inputs, "hidden_size": HIDDEN, "bidirectional": True}


def feedforward(inputs, outputs):
    return {"input_dim": inputs, "num_layers": 1, "hidden_dims": [outputs], "activations": ["relu"]}


def build(instances, kind, width=WORD, encoded=2 * HIDDEN, **changes):
    torch.manual_seed(0)
    vocab = Vocabulary.from_instances(instances)
    parameters = {
        "type": kind,
        "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": width}}},
        "embedding_dropout": 0.0,
        "encoder": lstm(HIDDEN),
        "integrator": lstm(3 * encoded),
        "integrator_dropout": 0.0,
        "output_layer": feedforward(8 * HIDDEN, vocab.get_vocab_size("labels")),
        **changes,
    }
    return Model.from_params(vocab=vocab, params=Params(parameters)).eval()


def logits(model, instances):
    batch = Batch(copy.deepcopy(instances))  # an instance that was indexed does not count for a vocabulary again
    batch.index_instances(model.vocab)
    return model(**batch.as_tensor_dict())["logits"]


def test_is_bcn_with_a_feedforward_encoder(instances):
    layer = {"type": "feedforward", "feedforward": feedforward(WORD, HIDDEN)}
    expected = build(instances, "bcn", pre_encode_feedforward=feedforward(WORD, HIDDEN))
    model = build(instances, "elmo_bcn", pre_encode_feedforward=layer)

    assert torch.equal(logits(model, instances), logits(expected, instances))


def test_elmo_goes_around_the_first_layer_and_the_encoder(instances):
    """The first columns of the input stand for the second mix: they reach the second biLSTM as they are."""
    around = {"type": "elmo_output", "elmo_dim": ELMO}
    first = {"type": "feedforward", "feedforward": feedforward(WORD, HIDDEN)}
    model = build(
        instances,
        "elmo_bcn",
        width=ELMO + WORD,
        encoded=4 * HIDDEN,
        pre_encode_feedforward={**around, "elmo_start": 0, "encoder": first},
        encoder={**around, "encoder": lstm(HIDDEN), "elmo_encoder": lstm(ELMO)},
    )
    embedded, reached = [], []
    model._text_field_embedder.register_forward_hook(lambda *arguments: embedded.append(arguments[-1]))
    model._encoder._elmo_encoder.register_forward_pre_hook(lambda _, inputs: reached.append(inputs[0]))

    logits(model, instances)

    assert torch.equal(reached[0], embedded[0][..., :ELMO])


@pytest.mark.parametrize("mates", [0, 2])
def test_a_text_without_tokens_is_refused(mates, instances):
    """Its label would be one of probabilities that are no numbers."""
    layer = {"type": "feedforward", "feedforward": feedforward(WORD, HIDDEN)}
    model = build(instances, "elmo_bcn", pre_encode_feedforward=layer)
    empty = Instance({"tokens": TextField([], {"tokens": SingleIdTokenIndexer()})})
    others = [Instance({"tokens": instance["tokens"]}) for instance in instances[:mates]]

    with pytest.raises(ConfigurationError, match=f"elmo_bcn: a text without a token, in item {mates + 1} of its batch"):
        logits(model, [*others, empty])
