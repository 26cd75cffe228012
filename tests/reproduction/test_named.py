"""What a configuration names."""

from elmo_plugin.reproduction.named import kinds_of, named_in, vectors_in

CONFIG = {
    "train_data_path": "a",
    "reader": {"indexers": {"weights": "b"}, "file_path": "c"},
    "model": {"words": {"pretrained_file": "d"}, "weights": [1.0]},
}
SEVERAL = {
    "elmo": {"options_file": "o", "weight_file": "e"},
    "parts": [{"weights": "f"}, {"pretrained_file": "g", "embedding_dim": 4}],
    "data_path": ["h", "i"],
}


def test_what_is_named() -> None:
    assert list(named_in(CONFIG)) == [("train_data_path", "a"), ("weights", "b"), ("pretrained_file", "d")]


def test_what_is_named_in_lists_and_by_the_words_of_allennlp() -> None:
    named = [("weights", "e"), ("weights", "f"), ("pretrained_file", "g"), ("data_path", "h"), ("data_path", "i")]

    assert list(named_in(SEVERAL)) == named
    assert list(vectors_in(SEVERAL)) == [("g", 4)]


def test_kinds() -> None:
    assert kinds_of(CONFIG) == ["data", "word vectors", "biLM"]
    assert kinds_of({"model": {"weights": "b"}}) == ["biLM"] and kinds_of({}) == []


def test_word_vectors_have_a_width() -> None:
    words = {"type": "embedding", "embedding_dim": 50, "pretrained_file": "d"}
    untrained = {"type": "embedding", "embedding_dim": 16}

    assert list(vectors_in({"model": {"words": words, "others": untrained}, "reader": {}})) == [("d", 50)]
