from dataclasses import replace

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.modules.elmo import Elmo, batch_to_ids  # noqa: E402

from elmo_plugin.adapters.bilm_folder import write_bilm_folder  # noqa: E402
from elmo_plugin.engine.bilm import BiLm  # noqa: E402
from elmo_plugin.formats import read_pair, read_weights  # noqa: E402
from tests import tiny  # noqa: E402

WORDS = ["<S>", "</S>", "<UNK>", "the", "ü"]


@pytest.fixture
def weights(tmp_path):
    found = read_pair(*tiny.write(tmp_path / "bilm"))
    softmax = {"weight": torch.ones(5, found.options.lstm.projection_dim), "bias": torch.zeros(5)}
    return replace(found, softmax=softmax, vocabulary=WORDS)


def test_allennlps_own_elmo_loads_it(weights, tmp_path):
    write_bilm_folder(weights, tmp_path / "out")
    stock = Elmo(str(tmp_path / "out" / "options.json"), str(tmp_path / "out" / "weights.hdf5"), 1, dropout=0)
    bilm = BiLm(weights.options, state="reset")
    bilm.load_tensors(weights.tensors, "test")
    ids = batch_to_ids([["the", "cat", "sat"]])
    expected = bilm(ids).layers.mean(0)[:, 1:-1]

    torch.testing.assert_close(stock(ids)["elmo_representations"][0], expected, rtol=0, atol=1e-5)


def test_everything_comes_back(weights, tmp_path):
    write_bilm_folder(weights, tmp_path / "out")
    found = read_weights(tmp_path / "out")

    assert found.vocabulary == WORDS
    assert (tmp_path / "out" / "vocabulary.txt").read_text(encoding="utf-8") == "<S>\n</S>\n<UNK>\nthe\nü\n"
    for name, tensor in weights.everything().items():
        assert found.everything()[name].equal(tensor), name


def test_card(weights, tmp_path):
    write_bilm_folder(weights, tmp_path / "out", {"best_validation_perplexity": 1234.5, "epoch": 3}, {"seed": 1})
    card = (tmp_path / "out" / "README.md").read_text()

    assert "| LSTMs | 2 layers of 12 cells, projection 6, in each direction |" in card
    assert "| softmax | over 5 words |" in card
    assert "| perplexity | 1,234.5000 |" in card and "epoch" not in card
    assert '"seed": 1' in card
    (tmp_path / "out" / "README.md").write_text("completed by hand")
    write_bilm_folder(replace(weights, softmax=None, vocabulary=None), tmp_path / "out")
    assert (tmp_path / "out" / "README.md").read_text() == "completed by hand"


def test_card_of_a_word_level_model_without_scores(tmp_path):
    found = read_pair(*tiny.write_word_level(tmp_path / "bilm", ["the"]))
    write_bilm_folder(found, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()

    assert "| token layer | words |" in card and "| softmax | none |" in card and "Scores" not in card
