"""Word vectors: what is written, and what is said without gensim."""

import sys

import pytest

from elmo_plugin.reproduction import word_vectors


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "text.txt").write_text("The cat sat on the mat .\nA dog sat on the cat .\n" * 50, encoding="utf-8")
    return str(tmp_path / "text.txt")


def test_vectors_are_read_by_allennlp(tmp_path, corpus):
    pytest.importorskip("gensim")
    allennlp = pytest.importorskip("allennlp.modules.token_embedders")
    from allennlp.data import Vocabulary

    target = tmp_path / "new" / "vectors.txt"
    number = word_vectors.train_vectors(corpus, target, epochs=1)

    vocab = Vocabulary(tokens_to_add={"tokens": ["the", "cat"]})
    embedding = allennlp.Embedding(embedding_dim=word_vectors.DIM, vocab=vocab, pretrained_file=str(target))
    lines = dict(line.split(" ", 1) for line in target.read_text(encoding="utf-8").splitlines())
    assert number == len(lines) == 8
    assert embedding.weight[vocab.get_token_index("cat")].tolist() == pytest.approx(
        [float(value) for value in lines["cat"].split()]
    )


def test_without_gensim_it_says_what_to_do(tmp_path, corpus, monkeypatch):
    for name in ("gensim", "gensim.models"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(ImportError, match="pip install gensim.*--vectors"):
        word_vectors.train_vectors(corpus, tmp_path / "vectors.txt")
    assert not (tmp_path / "vectors.txt").exists()


def test_too_little_text(tmp_path):
    pytest.importorskip("gensim")
    (tmp_path / "text.txt").write_text("The cat sat .\n", encoding="utf-8")

    with pytest.raises(ValueError, match="text.txt: no word occurs 5 times"):
        word_vectors.train_vectors(str(tmp_path / "text.txt"), tmp_path / "vectors.txt")
    assert not (tmp_path / "vectors.txt").exists()
