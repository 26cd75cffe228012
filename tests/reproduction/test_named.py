"""What a configuration names."""

from elmo_plugin.reproduction.named import kinds_of, named_in

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
