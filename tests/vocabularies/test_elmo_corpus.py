from dataclasses import replace

import pytest

pytest.importorskip("allennlp")

from allennlp.common import Params  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.data import Vocabulary  # noqa: E402

from elmo_plugin.corpus.vocabulary import write_vocabulary  # noqa: E402
from elmo_plugin.formats import read_weights, write_weights  # noqa: E402
from tests import tiny  # noqa: E402

WORDS = ["<S>", "</S>", "<UNK>", "b", "a", "ü"]


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text("b a b\nü b a\n", encoding="utf-8")
    return tmp_path / "text"


def words_of(vocabulary):
    return [vocabulary.get_token_from_index(i, "elmo_lm") for i in range(vocabulary.get_vocab_size("elmo_lm"))]


def build(**parameters):
    return Vocabulary.from_params(Params({"type": "elmo_corpus", **parameters}))


def test_counts_text_in_order(text):
    assert words_of(build(corpus=str(text))) == WORDS
    assert words_of(build(corpus=str(text), max_size=4)) == WORDS[:4]
    assert words_of(build(corpus=str(text), min_count=2)) == WORDS[:5]


def test_reads_a_file(tmp_path):
    write_vocabulary(WORDS, tmp_path / "vocabulary.txt")
    assert words_of(build(file=str(tmp_path / "vocabulary.txt"))) == WORDS


def test_goes_through_an_archive(text, tmp_path):
    """AllenNLP reads the vocabulary of an archive with the class of the configuration."""
    vocabulary = build(corpus=str(text))
    vocabulary.save_to_files(str(tmp_path / "vocabulary"))
    vocab_class, _ = Vocabulary.resolve_class_name("elmo_corpus")

    assert words_of(vocab_class.from_files(str(tmp_path / "vocabulary"))) == WORDS


def test_word_that_allennlps_files_cannot_hold_is_left_out(tmp_path):
    (tmp_path / "text").write_text("b @@NEWLINE@@ x@@NEWLINE@@y a b @@UNKNOWN@@ @@PADDING@@\n")
    vocabulary = build(corpus=str(tmp_path / "text"))
    vocabulary.save_to_files(str(tmp_path / "vocabulary"))

    again = Vocabulary.from_files(str(tmp_path / "vocabulary"))
    assert words_of(again) == words_of(vocabulary) == WORDS[:4] + ["@@PADDING@@", "@@UNKNOWN@@", "a"]


def test_one_source_is_needed():
    for parameters in ({}, {"corpus": "text", "file": "vocabulary.txt"}, {"weights": "builtin", "file": "x"}):
        with pytest.raises(ConfigurationError, match="either 'corpus', 'file' or 'weights'"):
            build(**parameters)


def test_what_is_read_is_not_cut():
    for parameters in ({"file": "vocabulary.txt", "max_size": 9}, {"weights": "builtin", "min_count": 2}):
        with pytest.raises(ConfigurationError, match="belong to a 'corpus' whose words are counted"):
            build(**parameters)


def test_keeps_the_vocabulary_of_a_bilm(text, tmp_path):
    tiny.write(tmp_path / "bilm")
    weights = read_weights(tmp_path / "bilm")
    write_weights(replace(weights, vocabulary=WORDS[::-1]), tmp_path / "with.safetensors")

    assert words_of(build(weights=str(tmp_path / "with.safetensors"), corpus=str(text))) == WORDS[::-1]
    assert words_of(build(weights=str(tmp_path / "bilm"), corpus=str(text), max_size=5)) == WORDS[:5]
    with pytest.raises(ConfigurationError, match="bilm comes without a vocabulary.*or 'corpus' as well"):
        build(weights=str(tmp_path / "bilm"))
