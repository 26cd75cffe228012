"""The token indexer: equal to AllenNLP's ids, length and vocabulary from the biLM, padding."""

import copy
import pickle
from pathlib import Path

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Vocabulary
from allennlp.data.fields import ListField, TextField
from allennlp.data.token_indexers import ELMoTokenCharactersIndexer, TokenIndexer
from allennlp.data.tokenizers import Token
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine import OptionsError, WeightFileError
from elmo_plugin.token_indexers.elmo import ElmoIndexer
from tests import tiny

WORDS = ["the", "cat", "naïve"]


def tensor_of(indexer, words, length=None):
    indexed = indexer.tokens_to_indices([Token(word) for word in words], Vocabulary())
    lengths = indexer.get_padding_lengths(indexed) if length is None else {"elmo_tokens": length}
    return indexer.as_padded_tensor_dict(indexed, lengths)["elmo_tokens"]


def test_it_is_registered_and_counts_as_allennlps_indexer():
    indexer = TokenIndexer.from_params(Params({"type": "elmo"}))

    assert isinstance(indexer, ElmoIndexer)
    assert isinstance(indexer, ELMoTokenCharactersIndexer)  # what the interpreters look for


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=6), st.integers(0, 8))
def test_ids_equal_those_of_allennlp(words, length):
    theirs, ours = ELMoTokenCharactersIndexer(), ElmoIndexer()

    expected = tensor_of(theirs, words, length)
    actual = tensor_of(ours, words, length)

    # For no token at all AllenNLP forgets the width.
    assert torch.equal(actual, expected.reshape(length, 50))
    assert actual.dtype == torch.int64


def test_boundary_words_and_lone_surrogates_equal_those_of_allennlp():
    words = ["<S>", "</S>", "a\ud800b", ""]

    assert torch.equal(tensor_of(ElmoIndexer(), words), tensor_of(ELMoTokenCharactersIndexer(), words))


def test_added_tokens_equal_those_of_allennlp():
    added = {"@@START@@": 3, "@@END@@": 260}
    words = ["@@START@@", "a", "@@END@@"]

    expected = tensor_of(ELMoTokenCharactersIndexer(tokens_to_add=added), words)
    assert torch.equal(tensor_of(ElmoIndexer(tokens_to_add=added), words), expected)
    assert not torch.equal(tensor_of(ElmoIndexer(), words), expected)


def test_added_token_out_of_range_is_refused():
    with pytest.raises(ConfigurationError, match="'X' is 40000, expected 0 to 32766, and below 261 for a biLM"):
        ElmoIndexer(tokens_to_add={"X": 40000})
    assert tensor_of(ElmoIndexer(tokens_to_add={"X": 32766}), ["X"], length=1)[0, 1] == 32767


def test_minimum_padding_length():
    assert tensor_of(ElmoIndexer(token_min_padding_length=4), ["a"]).shape == (4, 50)


@pytest.mark.parametrize("characters", [10, 20, 25])
def test_length_of_a_word_comes_from_the_bilm(tmp_path, characters):
    tiny.write(tmp_path / "bilm", characters=characters)

    ids = tensor_of(ElmoIndexer(weights=str(tmp_path / "bilm")), ["a" * 60])

    assert ids.shape == (1, characters)
    assert ids[0, -1] == 260  # the end of the word stays when the word is cut
    assert torch.equal(ids, tensor_of(ElmoIndexer(max_characters_per_token=characters), ["a" * 60]))


def test_length_that_contradicts_the_bilm_is_refused(tmp_path):
    tiny.write(tmp_path / "bilm", characters=20)

    with pytest.raises(ConfigurationError, match="max_characters_per_token is 25, but .* has 20"):
        ElmoIndexer(weights=str(tmp_path / "bilm"), max_characters_per_token=25)


@pytest.mark.parametrize("length", [2, 0, -5])
def test_length_without_room_for_a_character_is_refused(length):
    with pytest.raises(ConfigurationError, match=f"max_characters_per_token is {length}, expected at least 3"):
        ElmoIndexer(max_characters_per_token=length)


def test_missing_weights_are_an_error_of_their_own(tmp_path):
    with pytest.raises(WeightFileError, match="nowhere"):
        ElmoIndexer(weights=str(tmp_path / "nowhere"))


def test_word_level_bilm_gives_word_numbers(tmp_path):
    tiny.write_word_level(tmp_path / "bilm", WORDS)
    indexer = ElmoIndexer(weights=str(tmp_path / "bilm"))

    ids = tensor_of(indexer, ["cat", "dog", "naïve", "the"], length=6)

    # one above the position in the vocabulary: <S> 1, </S> 2, <UNK> 3
    assert ids.tolist() == [5, 3, 6, 4, 0, 0]


def test_word_level_bilm_without_vocabulary_is_refused(tmp_path):
    tiny.write_word_level(tmp_path / "bilm", WORDS)
    (tmp_path / "bilm" / "vocabulary.txt").unlink()

    with pytest.raises(OptionsError, match="there is none beside the weights"):
        ElmoIndexer(weights=str(tmp_path / "bilm"))


@pytest.mark.parametrize("parameter", [{"tokens_to_add": {"X": 3}}, {"max_characters_per_token": 50}])
def test_word_level_bilm_refuses_parameters_for_characters(tmp_path, parameter):
    tiny.write_word_level(tmp_path / "bilm", WORDS)

    with pytest.raises(ConfigurationError, match=next(iter(parameter))):
        ElmoIndexer(weights=str(tmp_path / "bilm"), **parameter)


@pytest.mark.parametrize("sentences", [[[], ["a"]], [[]], [[], []], [["a"], []]], ids=str)
def test_empty_sentences_keep_their_place(sentences):
    indexers = {"elmo": ElmoIndexer()}
    fields = [TextField([Token(word) for word in sentence], indexers) for sentence in sentences]
    batch = Batch([Instance({"text": field}) for field in fields])
    batch.index_instances(Vocabulary())

    ids = batch.as_tensor_dict()["text"]["elmo"]["elmo_tokens"]

    longest = max(len(sentence) for sentence in sentences)
    assert ids.shape == (len(sentences), longest, 50)
    assert [(row > 0).any(-1).sum().item() for row in ids] == [len(sentence) for sentence in sentences]


def test_lists_of_fields_are_padded_with_empty_ones():
    indexers = {"elmo": ElmoIndexer()}
    inner = [TextField([Token("a"), Token("b")], indexers), TextField([Token("c")], indexers)]
    batch = Batch([Instance({"texts": ListField(inner)}), Instance({"texts": ListField(inner[:1])})])
    batch.index_instances(Vocabulary())

    ids = batch.as_tensor_dict()["texts"]["elmo"]["elmo_tokens"]

    assert ids.shape == (2, 2, 2, 50)
    assert (ids[1, 1] == 0).all()


def test_it_survives_a_process_border_and_compares():
    indexer = ElmoIndexer(tokens_to_add={"X": 3})

    assert pickle.loads(pickle.dumps(indexer)) == indexer
    assert copy.deepcopy(indexer) == indexer
    assert indexer != ElmoIndexer()


def test_path_may_be_that_of_the_weight_file(tmp_path):
    _, weight_file = tiny.write(tmp_path / "bilm", characters=12)

    assert tensor_of(ElmoIndexer(weights=str(Path(weight_file))), ["a"]).shape == (1, 12)
