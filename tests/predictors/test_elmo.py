import json
import sys

import numpy as np
import pytest
import torch

pytest.importorskip("allennlp")
pytest.importorskip("h5py")

from allennlp.commands import parse_args  # noqa: E402
from allennlp.common import Params  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.data import DatasetReader, Vocabulary  # noqa: E402
from allennlp.models import Model  # noqa: E402
from allennlp.models.archival import archive_model  # noqa: E402
from allennlp.predictors import Predictor  # noqa: E402

from elmo_plugin.elmo_embedder import ElmoEmbedder  # noqa: E402
from elmo_plugin.formats import read_weights, write_weights  # noqa: E402
from tests import tagging, tiny  # noqa: E402


def model_and_reader(folder, **embedder):
    indexer = {"type": "elmo"} if "weights" not in embedder else {"type": "elmo", "weights": embedder["weights"]}
    configuration = tagging.config(folder, {"type": "elmo", **embedder}, indexer)
    vocabulary = Vocabulary({"labels": {"N": 1, "V": 1}})
    model = Model.from_params(vocab=vocabulary, params=Params(configuration["model"]))
    return model, DatasetReader.from_params(Params(configuration["dataset_reader"])), vocabulary


@pytest.fixture
def files(tmp_path):
    options_file, weight_file = tiny.write(tmp_path / "biLM")
    return {"options_file": options_file, "weight_file": weight_file}


def test_layers_of_the_model(files, tmp_path):
    model, reader, _ = model_and_reader(tmp_path, state="reset", **files)
    predictor = Predictor.by_name("elmo")(model, reader)
    expected = ElmoEmbedder(*files.values(), state="reset")
    found = predictor.predict_batch_json([{"sentence": "The  cat"}, {"tokens": ["a b"]}, {"tokens": []}])

    assert [entry["tokens"] for entry in found] == [["The", "cat"], ["a b"], []]
    for entry in found:
        layers = np.array(entry["layers"]).reshape(3, -1, 12)
        np.testing.assert_allclose(layers, expected.embed_sentence(entry["tokens"]), atol=1e-5)
    assert predictor.predict_json({"sentence": "a"})["tokens"] == ["a"]


def test_word_level(tmp_path):
    tiny.write_word_level(tmp_path / "biLM", ["the", "cat"])
    model, reader, _ = model_and_reader(tmp_path, state="reset", weights=str(tmp_path / "biLM"))
    found = Predictor.by_name("elmo")(model, reader).predict_json({"sentence": "the cat"})

    expected = ElmoEmbedder(weights=str(tmp_path / "biLM"), state="reset").embed_sentence(["the", "cat"])
    np.testing.assert_allclose(found["layers"], expected, atol=1e-5)


def test_from_an_archive(files, tmp_path, monkeypatch):
    model, _, vocabulary = model_and_reader(tmp_path, state="reset", **files)
    configuration = tagging.config(tmp_path, {"type": "elmo", "state": "reset", **files})
    folder = tmp_path / "trained"
    vocabulary.save_to_files(str(folder / "vocabulary"))
    (folder / "config.json").write_text(json.dumps(configuration))
    torch.save(model.state_dict(), folder / "best.th")
    archive_model(str(folder))
    (tmp_path / "input").write_text('{"sentence": "The cat"}\n{"tokens": ["sat"]}\n')
    arguments = ["predict", str(folder / "model.tar.gz"), str(tmp_path / "input"), "--predictor", "elmo", "--silent"]
    output = ["--output-file", str(tmp_path / "output"), "--batch-size", "2"]
    monkeypatch.setattr(sys, "argv", ["allennlp", *arguments, *output])
    _, args = parse_args("allennlp")
    args.func(args)

    lines = [json.loads(line) for line in (tmp_path / "output").read_text().splitlines()]
    assert [np.array(line["layers"]).shape for line in lines] == [(3, 2, 12), (3, 1, 12)]


def test_what_is_no_sentence_is_refused(files, tmp_path):
    model, reader, _ = model_and_reader(tmp_path, **files)
    with pytest.raises(ConfigurationError, match=r"found \{'text': 'a'\}, expected"):
        Predictor.by_name("elmo")(model, reader).predict_json({"text": "a"})


def test_a_model_without_a_bilm_is_refused(files, tmp_path):
    model, reader, _ = model_and_reader(tmp_path, **files)
    model.text_field_embedder = None
    with pytest.raises(ConfigurationError, match=r"has 0 biLMs \(none\), expected one"):
        Predictor.by_name("elmo")(model, reader)


def test_a_warm_state_is_that_of_the_tuned_weights(files, tmp_path):
    """A model that was tuned with carried state has none stored, and that of the weights before is another one."""
    model, _, _ = model_and_reader(tmp_path, state="warm", **files)
    write_weights(model.text_field_embedder.token_embedder_elmo.weight_set(), tmp_path / "before" / "weights.hdf5")
    tuned = {name: value for name, value in model.state_dict().items() if ".warm." not in name}
    for name, value in tuned.items():
        if "lstm" in name and "weight" in name:
            tuned[name] = 1.5 * value

    model, reader, _ = model_and_reader(tmp_path, weights=str(tmp_path / "before"), state="warm")
    model.load_state_dict(tuned)
    found = Predictor.by_name("elmo")(model, reader).predict_json({"sentence": "The cat"})

    weights = model.text_field_embedder.token_embedder_elmo.weight_set()
    before = read_weights(tmp_path / "before").tensors["warm.hidden"]
    assert not torch.allclose(weights.tensors["warm.hidden"], before, atol=1e-2)
    write_weights(weights, tmp_path / "after" / "weights.hdf5")
    expected = ElmoEmbedder(weights=str(tmp_path / "after"), state="warm").embed_sentence(["The", "cat"])
    np.testing.assert_allclose(found["layers"], expected, atol=1e-5)
