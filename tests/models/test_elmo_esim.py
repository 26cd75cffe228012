"""The entailment model is AllenNLP's, with a dropout behind the attention."""

import copy

import pytest
import torch

pytest.importorskip("allennlp_models.pair_classification")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DatasetReader, Vocabulary
from allennlp.models import Model

from tests import task_data

WIDTH, HIDDEN = 8, 4


@pytest.fixture
def instances(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text(task_data.snli())
    reader = DatasetReader.from_params(Params({"type": "snli", "tokenizer": {"type": "just_spaces"}}))
    return list(reader.read(str(path)))


def build(instances, kind, **changes):
    def feedforward(inputs, outputs):
        return {"input_dim": inputs, "num_layers": 1, "hidden_dims": outputs, "activations": "relu"}

    def lstm(inputs):
        return {"type": "lstm", "input_size": inputs, "hidden_size": HIDDEN, "bidirectional": True}

    torch.manual_seed(0)
    parameters = {
        "type": kind,
        "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": WIDTH}}},
        "dropout": 0.0,
        "encoder": lstm(WIDTH),
        "matrix_attention": {"type": "dot_product"},
        "projection_feedforward": feedforward(8 * HIDDEN, HIDDEN),
        "inference_encoder": lstm(HIDDEN),
        "output_feedforward": feedforward(8 * HIDDEN, HIDDEN),
        "output_logit": {**feedforward(HIDDEN, 3), "activations": "linear"},
        **changes,
    }
    return Model.from_params(vocab=Vocabulary.from_instances(instances), params=Params(parameters))


def loss(model, instances):
    batch = Batch(copy.deepcopy(instances))  # an instance that was indexed does not count for a vocabulary again
    batch.index_instances(model.vocab)
    return model(**batch.as_tensor_dict())["loss"]


def test_is_esim_without_the_dropout(instances):
    expected = loss(build(instances, "esim").eval(), instances)

    assert torch.equal(loss(build(instances, "elmo_esim").eval(), instances), expected)
    assert torch.equal(loss(build(instances, "elmo_esim", attention_dropout=0.5).eval(), instances), expected)


def test_dropout_is_on_the_input_of_the_projection(instances):
    model = build(instances, "elmo_esim", attention_dropout=0.5).train()
    seen = []
    model._projection_feedforward[1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))

    loss(model, instances)

    assert len(seen) == 2
    assert 0.3 < (seen[0] == 0).float().mean() < 0.7


@pytest.mark.parametrize("name", ["premise", "hypothesis"])
def test_a_pair_without_tokens_is_refused(name, instances):
    """Its mean would be 0 / 0, and its label the first one."""
    model = build(instances, "elmo_esim").eval()
    instances[1][name].tokens.clear()

    with pytest.raises(
        ConfigurationError, match=rf"elmo_esim: a {name} without a token, in item \d of its batch \(.*\)\. Exp"
    ):
        loss(model, instances)
