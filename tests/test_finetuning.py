"""The recipe: a softmax for a biLM that has none, one epoch on the text of a task, the biLM frozen in the task."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive
from allennlp.modules.token_embedders import TokenEmbedder

from elmo_plugin.formats import read_weights, write_weights
from tests import tiny

EXPERIMENTS = Path(__file__).parent.parent / "experiments" / "finetuning"
SMALL = {
    "data_loader.batch_size": 2,
    "validation_data_loader.batch_size": 2,
    "model.n_negative_samples": 3,
    "trainer.optimizer.lr": 0.01,
}
TREES = "(3 (2 The) (2 (2 cat) (2 sat)))\n(1 (2 A) (2 (2 dog) (2 -LRB-)))\n" * 10


@pytest.fixture(autouse=True, scope="module")
def data(tmp_path_factory):
    """A biLM without a softmax, ordinary text and a task."""
    folder = tmp_path_factory.mktemp("data")
    tiny.write(folder / "bilm")
    for name in ("train-0", "heldout"):
        with gzip.open(folder / f"{name}.txt.gz", "wt") as text:
            text.write("The cat sat\nA dog (\nnobody saw it\n" * 10)
    for name in ("train", "dev"):
        (folder / f"{name}.txt").write_text(TREES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LM_DATA", str(folder))
        patch.setenv("SST_DATA", str(folder))
        yield folder


def train(config, folder, bilm, monkeypatch, **overrides):
    monkeypatch.setenv("BILM", str(bilm))
    parameters = Params.from_file(str(EXPERIMENTS / config), json.dumps({**SMALL, **overrides}))
    train_model(parameters, str(folder))
    return folder / "model.tar.gz"


@pytest.fixture(scope="module")
def with_softmax(data):
    with pytest.MonkeyPatch.context() as patch:
        return train("softmax.jsonnet", data / "softmax", data / "bilm", patch)


def test_the_softmax_is_trained_with_the_rest_frozen(data, with_softmax):
    before, after = read_weights(data / "bilm"), read_weights(with_softmax)

    assert before.softmax is None and after.softmax is not None
    assert after.vocabulary[3:] == ["(", "A", "The", "cat", "dog", "it", "nobody", "sat", "saw"]
    assert after.softmax["bias"].any()
    for name, tensor in before.tensors.items():
        assert after.tensors[name].equal(tensor), name


def test_the_text_of_a_task_tunes_the_bilm(data, with_softmax, tmp_path, monkeypatch):
    tuned = train("sst.jsonnet", tmp_path / "tuned", with_softmax, monkeypatch)
    before, after = read_weights(with_softmax), read_weights(tuned)
    metrics = json.loads((tmp_path / "tuned" / "metrics.json").read_text())

    assert after.vocabulary == before.vocabulary
    assert after.options == before.options
    assert not after.tensors["lstm.forward_layers.0.input_weight"].equal(
        before.tensors["lstm.forward_layers.0.input_weight"]
    )
    assert metrics["validation_tokens"] == 20 * 4
    assert metrics["validation_unknown_rate"] == 0, "brackets of the treebank are read as text"
    embedder = TokenEmbedder.from_params(Params({"type": "elmo", "weights": str(tuned)}))
    assert embedder.get_output_dim() == after.options.output_dim

    with_softmax.rename(tmp_path / "away")
    try:
        model = load_archive(tuned).model
    finally:
        (tmp_path / "away").rename(with_softmax)
    assert model.softmax.weight.equal(after.softmax["weight"])


def test_weights_with_a_softmax_need_no_first_step(data, with_softmax, tmp_path, monkeypatch):
    write_weights(read_weights(with_softmax), tmp_path / "bilm" / "weights.hdf5")
    tuned = train("text.jsonnet", tmp_path / "tuned", tmp_path / "bilm", monkeypatch)

    assert read_weights(tuned).vocabulary == read_weights(with_softmax).vocabulary


def test_what_does_not_fit_is_named(data, with_softmax, tmp_path, monkeypatch):
    vocabulary = {"vocabulary": {"type": "elmo_corpus", "corpus": str(data / "train-0.txt.gz"), "max_size": 6}}
    with pytest.raises(ConfigurationError, match="bilm comes without a vocabulary.*softmax.jsonnet trains both"):
        train("text.jsonnet", tmp_path / "1", data / "bilm", monkeypatch)
    with pytest.raises(ConfigurationError, match="bilm comes without a softmax. Train one first"):
        train("text.jsonnet", tmp_path / "2", data / "bilm", monkeypatch, **vocabulary)
    with pytest.raises(ConfigurationError, match="the vocabulary has 6 words, but the softmax of .* is over 12 others"):
        train("text.jsonnet", tmp_path / "3", with_softmax, monkeypatch, **vocabulary)


def test_another_order_of_words_is_refused(with_softmax, tmp_path, monkeypatch):
    weights = read_weights(with_softmax)
    words = weights.vocabulary[:3] + weights.vocabulary[:2:-1]
    write_weights(replace(weights, vocabulary=words), tmp_path / "other.safetensors")
    vocabulary = {"vocabulary": {"type": "elmo_corpus", "weights": str(tmp_path / "other.safetensors")}}
    with pytest.raises(ConfigurationError, match="Keep the vocabulary of the biLM"):
        train("text.jsonnet", tmp_path / "run", with_softmax, monkeypatch, **vocabulary)


def test_the_number_of_words_in_the_options_follows_a_new_softmax(data, tmp_path, monkeypatch):
    weights = read_weights(data / "bilm")
    options = replace(weights.options, n_tokens_vocab=793471)
    write_weights(replace(weights, options=options), tmp_path / "bilm.safetensors")
    trained = train("softmax.jsonnet", tmp_path / "run", tmp_path / "bilm.safetensors", monkeypatch)

    assert read_weights(trained).options.n_tokens_vocab == 12
    assert torch.isfinite(read_weights(trained).softmax["weight"]).all()
