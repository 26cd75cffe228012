"""One linear classifier on each layer, independent of the others."""

import pytest
import torch

pytest.importorskip("allennlp")
pytest.importorskip("h5py")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.models import Model, load_archive

from tests import tiny

LINES = "The###D cat###N sat###V\nIt###P\na###D " + "x" * 60 + "###N\n"


@pytest.fixture
def weights(tmp_path):
    tiny.write(tmp_path / "biLM")
    return str(tmp_path / "biLM" / "weights.hdf5")


@pytest.fixture
def reader(weights):
    indexer = {"type": "elmo", "weights": weights}
    return DatasetReader.from_params(Params({"type": "sequence_tagging", "token_indexers": {"elmo": indexer}}))


@pytest.fixture
def instances(reader, tmp_path):
    (tmp_path / "data.txt").write_text(LINES)
    return list(reader.read(str(tmp_path / "data.txt")))


def make(weights, instances, **elmo):
    embedder = {"type": "elmo", "weights": weights, "state": "reset", **elmo}
    params = Params({"type": "elmo_layer_probe", "elmo": embedder, "label_namespace": "labels"})
    return Model.from_params(params, vocab=Vocabulary.from_instances(instances))


def batch_of(model, instances):
    return next(iter(SimpleDataLoader(instances, len(instances), vocab=model.vocab)))


def test_predictions_loss_and_scores(weights, instances):
    torch.manual_seed(0)
    model = make(weights, instances)
    batch = batch_of(model, instances)
    output = model(**batch)
    layers = model.elmo.raw_layers(**batch["tokens"]["elmo"]).layers

    assert output["predictions"].shape == (3, 3, 3)
    assert output["mask"].tolist() == [[True] * 3, [True, False, False], [True, True, False]]
    mask, loss = output["mask"], 0.0
    metrics = model.get_metrics(reset=True)
    for layer, classify in enumerate(model.classifiers):
        logits = classify(layers[layer])[mask]
        right = batch["tags"][mask]
        assert torch.equal(logits.argmax(-1), output["predictions"][..., layer][mask])
        loss = loss - torch.log_softmax(logits, -1)[torch.arange(6), right].mean()
        expected = (logits.argmax(-1) == right).double().mean().item()
        assert metrics[f"accuracy_layer_{layer}"] == pytest.approx(expected)
    assert output["loss"].item() == pytest.approx(loss.item(), rel=1e-5)
    assert metrics["accuracy"] == pytest.approx(sum(metrics[f"accuracy_layer_{n}"] for n in range(3)) / 3)


def test_classifiers_learn_as_each_would_alone(weights, instances):
    model = make(weights, instances)
    batch = batch_of(model, instances)
    model(**batch)["loss"].backward()

    trained = {name for name, value in model.named_parameters() if value.requires_grad}
    assert trained == {f"classifiers.{n}.{part}" for n in range(3) for part in ("weight", "bias")}
    raw = model.elmo.raw_layers(**batch["tokens"]["elmo"])
    layers, mask = raw.layers, raw.mask
    for layer, classify in enumerate(model.classifiers):
        alone = torch.nn.functional.cross_entropy(classify(layers[layer])[mask], batch["tags"][mask])
        expected = torch.autograd.grad(alone, [classify.weight, classify.bias])
        torch.testing.assert_close(classify.weight.grad, expected[0])
        torch.testing.assert_close(classify.bias.grad, expected[1])


def test_tags_for_people(weights, instances):
    model = make(weights, instances).eval()
    found = model.forward_on_instances(instances)

    assert [[len(layer) for layer in one["tags"]] for one in found] == [[3] * 3, [1] * 3, [2] * 3]
    assert {tag for one in found for layer in one["tags"] for tag in layer} <= set("DNVP")


def test_learns_by_heart_saves_and_loads(weights, instances, reader, tmp_path):
    from allennlp.commands.train import train_model

    embedder = {"type": "elmo", "weights": weights, "state": "reset", "dropout": 0}
    config = {
        "dataset_reader": {
            "type": "sequence_tagging",
            "token_indexers": {"elmo": {"type": "elmo", "weights": weights}},
        },
        "train_data_path": str(tmp_path / "data.txt"),
        "model": {"type": "elmo_layer_probe", "elmo": embedder},
        "data_loader": {"batch_size": 3},
        "trainer": {"num_epochs": 60, "optimizer": {"type": "adam", "lr": 0.1}},
    }
    model = train_model(Params(config), str(tmp_path / "run"))

    loaded = load_archive(str(tmp_path / "run" / "model.tar.gz")).model
    expected, found = (one.eval().forward_on_instances(instances) for one in (model, loaded))
    assert [one["tags"] for one in found] == [one["tags"] for one in expected]
    assert [one["tags"][2] for one in found] == [["D", "N", "V"], ["P"], ["D", "N"]]


def test_what_is_no_frozen_elmo_is_refused(weights, instances):
    with pytest.raises(ConfigurationError, match="asks what a frozen biLM knows"):
        make(weights, instances, fine_tune=True)
    params = Params(
        {"type": "elmo_layer_probe", "elmo": {"type": "embedding", "embedding_dim": 2, "num_embeddings": 2}}
    )
    with pytest.raises(ConfigurationError, match="is a Embedding, expected the token embedder"):
        Model.from_params(params, vocab=Vocabulary())


def test_other_indexers_are_refused(weights, instances):
    model = make(weights, instances)
    batch = batch_of(model, instances)

    with pytest.raises(ConfigurationError, match="token indexers .*'elmo', 'more'.* alone"):
        model({**batch["tokens"], "more": batch["tokens"]["elmo"]})
