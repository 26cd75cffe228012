"""Whole runs of `allennlp train`, `evaluate`, `predict`, `--recover` with the components, and what an archive holds."""

import json
import shutil

import h5py
import numpy as np
import pytest
import torch

pytest.importorskip("allennlp")
pytest.importorskip("elmo_plugin")  # its cures for AllenNLP come before the import of allennlp_models
pytest.importorskip("allennlp_models.tagging")

from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.predict import _PredictManager
from allennlp.data.tokenizers import Token
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor
from allennlp.training.callbacks import TrainerCallback

from elmo_plugin.engine import WeightFileError, batch_to_ids
from elmo_plugin.formats import archive, read_pair, read_weights, write_weights
from elmo_plugin.token_embedders.elmo import ElmoEmbedder
from tests import tagging, tiny
from tests.engine.tolerance import LAYERS, assert_close

IDS = batch_to_ids(tiny.SENTENCES)


class Interrupted(Exception):
    """Stands for a power cut."""


@TrainerCallback.register("stop_once")
class StopOnce(TrainerCallback):
    """Ends the training behind its second epoch, once."""

    armed = False

    def on_epoch(self, trainer, metrics, epoch, is_primary=True, **kwargs):
        if StopOnce.armed and epoch == 1:
            StopOnce.armed = False
            raise Interrupted()


@pytest.fixture
def weights(tmp_path):
    tiny.write(tmp_path / "bilm")
    return str(tmp_path / "bilm")


def embedder_of(model):
    return model.text_field_embedder.token_embedder_elmo.eval()


@pytest.fixture
def configuration(tmp_path, weights):
    result = tagging.config(
        tmp_path,
        {"type": "elmo", "weights": weights, "fine_tune": True, "state": "reset"},
        {"type": "elmo", "weights": weights},
        model="crf_tagger",
    )
    result["trainer"]["optimizer"] = {
        "type": "adam",
        "lr": 0.01,
        "parameter_groups": [[[r"\.bilm\."], {"lr": 0.001}], [[r"\.mixes\."], {"lr": 0.05}]],
    }
    return result


def config_of(tmp_path, weights, **parameters):
    embedder = {"type": "elmo", "weights": weights, **parameters}
    return tagging.config(tmp_path, embedder, epochs=1)


def test_train_evaluate_predict(configuration, tmp_path):
    trained = tagging.train(configuration, tmp_path / "run")
    path = str(tmp_path / "run" / "model.tar.gz")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())

    evaluated = evaluate_from_archive(path, configuration["validation_data_path"])
    assert evaluated["accuracy"] == pytest.approx(metrics["best_validation_accuracy"])

    loaded = load_archive(path)
    predictor = Predictor(loaded.model.eval(), loaded.dataset_reader)
    expected = predictor.predict_instance(instance_of("the cat", loaded))
    (tmp_path / "in.txt").write_text("the###D cat###N\n")
    _PredictManager(predictor, str(tmp_path / "in.txt"), str(tmp_path / "out.jsonl"), 4, False, True).run()
    assert json.loads((tmp_path / "out.jsonl").read_text())["tags"] == expected["tags"]
    assert len(expected["tags"]) == 2
    assert torch.equal(embedder_of(predictor._model)(IDS), embedder_of(trained)(IDS))


def instance_of(text, loaded):
    instance = loaded.dataset_reader.text_to_instance([Token(word) for word in text.split()])
    loaded.dataset_reader.apply_token_indexers(instance)
    instance.index_fields(loaded.model.vocab)
    return instance


def test_groups_of_parameters_learn_at_their_own_rate(configuration, tmp_path, weights):
    trained = embedder_of(tagging.train(configuration, tmp_path / "run"))
    before = ElmoEmbedder(weights=weights)

    moved = {
        name: (value - before.state_dict()[name]).abs().max().item()
        for name, value in trained.named_parameters()
        if value.requires_grad
    }
    # six steps of Adam move a weight by about six times its rate
    assert all(0 < moved[name] < 0.0075 for name in moved if ".bilm." in name)
    assert all(moved[name] > 0.02 for name in moved if ".mixes." in name)
    assert len(moved) == len(list(before.parameters()))


# The archive is complete


@pytest.mark.parametrize("fine_tune", [False, True], ids=["frozen", "tuned"])
@pytest.mark.parametrize("level", ["character", "word"])
def test_archive_loads_without_the_weight_files(tmp_path, fine_tune, level):
    folder = tmp_path / "bilm"
    if level == "word":
        tiny.write_word_level(folder, list(tagging.WORDS)[:6])
    else:
        tiny.write(folder, characters=20)
    source = {"type": "elmo", "weights": str(folder)}
    configuration = tagging.config(tmp_path, {**source, "fine_tune": fine_tune, "state": "warm"}, source)
    trained = embedder_of(tagging.train(configuration, tmp_path / "run"))
    folder.rename(tmp_path / "moved")

    for path in (tmp_path / "run" / "model.tar.gz", tmp_path / "run"):
        found = load_archive(path)
        loaded = embedder_of(found.model)
        instance = instance_of("the cat unheard of", found)
        ids = instance.as_tensor_dict()["tokens"]["elmo"]["elmo_tokens"].unsqueeze(0)
        assert ids.shape[2:] == (() if level == "word" else (20,))
        # The last digits of a word in the cache are those of the batch in which it first came.
        assert_close(loaded(ids), trained(ids), LAYERS[torch.float32])
        assert all(p.requires_grad == fine_tune for p in loaded.elmo.bilm.parameters())
    assert evaluate_from_archive(str(path), configuration["validation_data_path"])["accuracy"] > 0


def test_files_that_changed_after_the_training_do_not_matter(weights, tmp_path):
    trained = embedder_of(tagging.train(config_of(tmp_path, weights), tmp_path / "run"))
    tiny.write(tmp_path / "bilm", seed=5, cells=20)  # another biLM in the same place

    loaded = embedder_of(load_archive(tmp_path / "run" / "model.tar.gz").model)

    trained.reset_states()
    assert_close(loaded(IDS), trained(IDS), LAYERS[torch.float32])


def test_overrides_reach_the_embedder_of_an_archive(weights, tmp_path):
    tagging.train(config_of(tmp_path, weights), tmp_path / "run")
    moved = str((tmp_path / "bilm").rename(tmp_path / "moved"))
    key = "model.text_field_embedder.token_embedders.elmo"

    for overrides in ({f"{key}.state": "reset"}, {f"{key}.weights": moved, f"{key}.state": "reset"}):
        loaded = embedder_of(load_archive(tmp_path / "run" / "model.tar.gz", overrides=overrides).model)
        assert torch.equal(loaded(IDS), loaded(IDS))
    with pytest.raises(WeightFileError, match="nowhere"):
        load_archive(tmp_path / "run" / "model.tar.gz", overrides={f"{key}.weights": str(tmp_path / "nowhere")})


def test_missing_weights_are_an_error_before_training(tmp_path):
    with pytest.raises(WeightFileError, match="nowhere"):
        tagging.train(config_of(tmp_path, str(tmp_path / "nowhere")), tmp_path / "run")
    assert not list((tmp_path / "run").glob("*.th"))


def test_model_saved_from_a_loaded_archive_is_complete_too(weights, tmp_path):
    tagging.train(config_of(tmp_path, weights), tmp_path / "first")
    (tmp_path / "bilm").rename(tmp_path / "moved")
    configuration = config_of(tmp_path, weights)
    configuration["model"] = {"type": "from_archive", "archive_file": str(tmp_path / "first" / "model.tar.gz")}
    trained = embedder_of(tagging.train(configuration, tmp_path / "second"))
    (tmp_path / "first" / "model.tar.gz").rename(tmp_path / "kept.tar.gz")

    weights_again = archive.read(tmp_path / "second" / "model.tar.gz")
    assert torch.equal(
        weights_again.tensors["lstm.forward_layers.0.bias"], trained.elmo.bilm.lstm.forward_layers[0].bias
    )


@pytest.mark.parametrize("freeze", [True, False])
def test_embedder_taken_out_of_an_archive_is_frozen_or_trained_as_asked(weights, tmp_path, freeze):
    tagging.train(config_of(tmp_path, weights), tmp_path / "first")
    configuration = config_of(tmp_path, weights)
    pretrained = {"archive_file": str(tmp_path / "first"), "module_path": "text_field_embedder", "freeze": freeze}
    configuration["model"]["text_field_embedder"] = {"_pretrained": pretrained}

    trained = embedder_of(tagging.train(configuration, tmp_path / "second"))

    before = embedder_of(load_archive(tmp_path / "first").model)
    same = [torch.equal(p, q) for p, q in zip(trained.parameters(), before.parameters())]
    assert all(same) if freeze else not any(same)


# Export


def datasets(path):
    with h5py.File(path) as file:
        found = {}
        file.visititems(lambda name, item: found.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None)
    return found


def test_frozen_bilm_is_exported_from_an_archive_bit_for_bit(weights, tmp_path):
    tagging.train(config_of(tmp_path, weights), tmp_path / "run")
    (tmp_path / "out").mkdir()

    write_weights(read_weights(tmp_path / "run" / "model.tar.gz"), tmp_path / "out" / "weights.hdf5")

    before, after = datasets(tmp_path / "bilm" / "weights.hdf5"), datasets(tmp_path / "out" / "weights.hdf5")
    assert set(before) == set(after)
    assert all(np.array_equal(before[name].view("int32"), after[name].view("int32")) for name in before)


def test_tuned_bilm_is_exported_from_an_archive(weights, tmp_path):
    trained = embedder_of(tagging.train(config_of(tmp_path, weights, fine_tune=True), tmp_path / "run"))
    (tmp_path / "out").mkdir()

    write_weights(archive.read(tmp_path / "run"), tmp_path / "out" / "weights.hdf5")

    again = read_pair(tmp_path / "out" / "options.json", tmp_path / "out" / "weights.hdf5")
    parameters = dict(trained.elmo.bilm.named_parameters())
    original = read_weights(weights)
    for name, parameter in parameters.items():
        # The padding row is not in the file format, and nothing ever reads it.
        rows = slice(1, None) if name.endswith("char_embedding") else slice(None)
        assert torch.equal(again.tensors[name][rows], parameter[rows]), name
        assert not torch.equal(original.tensors[name], again.tensors[name]), name


def test_trained_archive_serves_as_weights(weights, tmp_path):
    trained = embedder_of(tagging.train(config_of(tmp_path, weights, fine_tune=True), tmp_path / "run"))
    embedder = ElmoEmbedder(weights=str(tmp_path / "run" / "model.tar.gz")).eval()

    trained.reset_states()
    # products are others where gradients are wanted
    torch.testing.assert_close(embedder.raw_layers(IDS).layers, trained.raw_layers(IDS).layers, rtol=0, atol=1e-5)


# Recovery


def recovering_config(tmp_path, weights):
    configuration = tagging.config(
        tmp_path, {"type": "elmo", "weights": weights, "dropout": 0.0, "state": "reset", "fine_tune": True}, epochs=3
    )
    configuration["trainer"]["callbacks"] = ["stop_once"]
    return configuration


@pytest.mark.parametrize("files_are_gone", [False, True])
def test_recovered_run_ends_like_an_unbroken_one(weights, tmp_path, files_are_gone):
    configuration = recovering_config(tmp_path, weights)
    tagging.train(configuration, tmp_path / "unbroken")
    StopOnce.armed = True
    with pytest.raises(Interrupted):
        tagging.train(configuration, tmp_path / "broken")
    assert not (tmp_path / "broken" / "model.tar.gz").exists()
    if files_are_gone:
        (tmp_path / "bilm").rename(tmp_path / "moved")

    tagging.train(configuration, tmp_path / "broken", recover=True)

    expected = tagging.losses(tmp_path / "unbroken")
    assert len(expected) == 6
    assert tagging.losses(tmp_path / "broken") == pytest.approx(expected, abs=1e-7)


def test_layer_cache_changes_nothing_but_the_time(tmp_path, weights):
    """Another seed and another layer choice read what the first run wrote; the archive needs no folder."""
    pytest.importorskip("lmdb")
    cache = tmp_path / "cache"
    found = {}
    for name, change in (("plain", {}), ("first", {"cache": str(cache)}), ("second", {"cache": str(cache)})):
        embedder = {"type": "elmo", "weights": weights, "state": "warm", "dropout": 0.2, **change}
        model = tagging.train(tagging.config(tmp_path, embedder), tmp_path / name)
        found[name] = tagging.losses(tmp_path / name)
        counts = getattr(embedder_of(model).elmo.cache, "counts", None)
        if name == "first":
            assert 0 < counts.computed <= 32 and counts.read > 0
        if name == "second":
            assert counts.computed == 0 and counts.read > 0
    np.testing.assert_allclose(found["first"], found["plain"], rtol=1e-4)
    np.testing.assert_allclose(found["second"], found["first"], rtol=1e-5)

    expected = embedder_of(load_archive(tmp_path / "plain" / "model.tar.gz").model)(IDS)
    shutil.rmtree(cache)
    cache.write_text("a file in its place")
    overrides = json.dumps({"model.text_field_embedder.token_embedders.elmo.cache": str(cache / "below")})
    loaded = embedder_of(load_archive(tmp_path / "second" / "model.tar.gz", overrides=overrides).model)
    assert loaded(IDS).shape == expected.shape
    cache.unlink()
    loaded = embedder_of(load_archive(tmp_path / "second" / "model.tar.gz").model)
    assert loaded(IDS).shape == expected.shape and loaded.elmo.cache.counts.computed == 4
