"""AllenNLP's interpreters, which know ELMo by its indexer's class and by the key `elmo_tokens`."""

import numpy
import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.interpret.attackers import Hotflip, InputReduction
from allennlp.interpret.saliency_interpreters import IntegratedGradient, SimpleGradient, SmoothGradient
from allennlp.models.archival import load_archive
from allennlp.predictors import TextClassifierPredictor

from elmo_plugin.token_embedders.elmo import ElmoEmbedder
from tests import classifying, tagging, tiny

TEXT = {"sentence": "the film really good plot bad"}


@pytest.fixture(scope="module", params=["frozen", "tuned"])
def predictor(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    tiny.write(folder / "bilm")
    embedder = {"type": "elmo", "weights": str(folder / "bilm"), "state": "reset", "dropout": 0.0}
    model = classifying.plain({**embedder, "fine_tune": request.param == "tuned"})
    tagging.train(classifying.config(folder, model, epochs=8), folder / "run")
    found = load_archive(folder / "run")
    return TextClassifierPredictor(found.model.eval(), found.dataset_reader)


@pytest.mark.parametrize("interpreter", [SimpleGradient, IntegratedGradient, SmoothGradient])
def test_saliency(predictor, interpreter):
    scores = interpreter(predictor).saliency_interpret_from_json(TEXT)["instance_1"]["grad_input_1"]

    assert len(scores) == 6
    assert sum(scores) == pytest.approx(1)
    assert min(scores) > 0


def test_saliency_leaves_the_bilm_as_it_was(predictor):
    embedder = next(module for module in predictor._model.modules() if isinstance(module, ElmoEmbedder))
    before = [p.requires_grad for p in embedder.parameters()]

    SimpleGradient(predictor).saliency_interpret_from_json(TEXT)

    assert [p.requires_grad for p in embedder.parameters()] == before


def test_hotflip_changes_the_prediction(predictor):
    before = predictor.predict_json(TEXT)["label"]
    flipper = Hotflip(predictor, vocab_namespace="tokens")

    result = flipper.attack_from_json(TEXT, "tokens", "grad_input_1")

    assert flipper.embedding_matrix.shape[1] == 16  # word vectors and ELMo
    assert torch.isfinite(flipper.embedding_matrix).all()
    assert len(result["final"][0]) == 6
    assert result["final"][0] != result["original"]
    changed = " ".join(result["final"][0])
    assert predictor.predict_json({"sentence": changed})["label"] != before


def test_input_reduction_keeps_the_prediction(predictor):
    before = predictor.predict_json(TEXT)["label"]

    result = InputReduction(predictor).attack_from_json(TEXT, "tokens", "grad_input_1")

    reduced = result["final"][0]
    assert 0 < len(reduced) < 6
    assert predictor.predict_json({"sentence": " ".join(reduced)})["label"] == before


def test_gradients_are_those_of_the_embedder(predictor):
    gradients, _ = predictor.get_gradients(predictor.json_to_labeled_instances(TEXT))

    assert gradients["grad_input_1"].shape == (1, 6, 16)
    assert numpy.abs(gradients["grad_input_1"][..., :12]).sum() > 0
