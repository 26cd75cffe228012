"""What a configuration names."""

from elmo_plugin.reproduction.named import kinds_of, named_in, vectors_in

CONFIG = {
    "train_data_path": "a",
    "reader": {"indexers": {"weights": "b"}, "file_path": "c"},
    "model": {"words": {"pretrained_file": "d"}, "weights": [1.0]},
}


def test_what_is_named() -> None:
    assert list(named_in(CONFIG)) == [("train_data_path", "a"), ("weights", "b"), ("pretrained_file", "d")]


def test_kinds() -> None:
    assert kinds_of(CONFIG) == ["data", "word vectors", "biLM"]
    assert kinds_of({"model": {"weights": "b"}}) == ["biLM"] and kinds_of({}) == []


def test_word_vectors_have_a_width() -> None:
    words = {"type": "embedding", "embedding_dim": 50, "pretrained_file": "d"}
    untrained = {"type": "embedding", "embedding_dim": 16}

    assert list(vectors_in({"model": {"words": words, "others": untrained}, "reader": {}})) == [("d", 50)]
