import math
import pickle
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine import backends, character_encoder
from elmo_plugin.engine.character_encoder import CharacterCnnEncoder
from elmo_plugin.engine.characters import words_to_ids
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.engine.token_encoder import WordEncoder, build_token_encoder
from tests.engine import equations, models
from tests.engine.tolerance import LAYERS, assert_close

WORDS = ["a", "cat", "", "x" * 48, "y" * 47, "z" * 60, "日本語", "<S>", "cat", "</S>", "a"]
TOLERANCE = LAYERS[torch.float64]


def encoder_and_weights(**changes):
    source = models.weights(**changes)
    return models.bilm(source).token_encoder, source


def assert_equals_the_equations(encoder, source, ids):
    expected = equations.words_to_vectors(source.content["char_cnn"], source.datasets, ids.numpy())
    assert_close(encoder(ids), torch.from_numpy(expected), TOLERANCE)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("highways", [0, 1, 2])
@pytest.mark.parametrize("filters", [[(1, 4), (7, 3)], [(3, 6)]], ids=["projected", "F = P"])
def test_equals_the_equations(filters, highways, activation):
    encoder, source = encoder_and_weights(filters=filters, highways=highways, activation=activation)
    ids = torch.from_numpy(words_to_ids(WORDS))

    assert encoder(ids).shape == (len(WORDS), 6)
    assert (encoder.projection is None) == (filters == [(3, 6)])
    assert_equals_the_equations(encoder, source, ids)


@pytest.mark.parametrize("length", [3, 10, 25])
def test_other_lengths_of_a_word(length):
    encoder, source = encoder_and_weights(characters=length)

    assert_equals_the_equations(encoder, source, torch.from_numpy(words_to_ids(WORDS, length)))


def test_zeros_inside_a_row_are_the_zero_vector():
    """Rows that another program padded with 0 after the word, as AllenNLP would take them."""
    encoder, source = encoder_and_weights()
    ids = torch.from_numpy(words_to_ids(["cat", "a"]))
    ids[ids == 261] = 0

    assert_equals_the_equations(encoder, source, ids)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.lists(st.tuples(st.integers(1, 6), st.integers(1, 3)), min_size=1, max_size=3), st.data())
def test_leaving_out_columns_of_padding_changes_nothing(n_words, filters, drawn):
    """Words of any lengths share a piece, and every window that sees a byte, or only padding, is kept."""
    encoder, source = encoder_and_weights(filters=filters, characters=12)
    ids = torch.from_numpy(words_to_ids(["x" * drawn.draw(st.integers(0, 12)) for _ in range(n_words)], 12))

    assert_equals_the_equations(encoder, source, ids)


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("name", backends.names())
def test_every_backend_finds_the_strongest_windows(name, trained, require_backend):
    require_backend(name)
    if not backends.get(name).supports(torch.device("cpu")):
        pytest.skip("not on a CPU")
    encoder, source = encoder_and_weights()
    encoder.char_embedding.requires_grad_(trained)
    ids = torch.from_numpy(words_to_ids(WORDS))

    assert_equals_the_equations(partial(encoder.encode, backend=backends.get(name)), source, ids)


def test_pieces_change_nothing(monkeypatch):
    encoder, source = encoder_and_weights()
    ids = torch.from_numpy(words_to_ids([*WORDS, *map(str, range(20))]))
    monkeypatch.setattr(character_encoder, "WORDS_AT_ONCE", 3)

    assert_equals_the_equations(encoder, source, ids)


def test_fresh_memory_is_written_before_it_is_read(monkeypatch):
    encoder, source = encoder_and_weights()
    allocate = torch.empty_like
    monkeypatch.setattr(torch, "empty_like", lambda *args, **kwargs: allocate(*args, **kwargs).fill_(2**40))

    assert_equals_the_equations(encoder, source, torch.from_numpy(words_to_ids(WORDS)))


def test_equal_words_are_encoded_once(monkeypatch):
    encoder, _ = encoder_and_weights()
    seen = []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda ids, backend=None: seen.append(len(ids)) or encode(ids, backend))

    vectors = encoder(torch.from_numpy(words_to_ids(["the", "cat", "the", "the"])))

    assert seen == [2]
    assert torch.equal(vectors[0], vectors[2]) and torch.equal(vectors[0], vectors[3])
    assert not torch.equal(vectors[0], vectors[1])


@settings(deadline=None)
@given(st.lists(st.text(max_size=3), max_size=12))
def test_unique_words(words):
    ids = torch.from_numpy(words_to_ids(words))
    encoder = CharacterCnnEncoder(CharCnnOptions(2, ((1, 2),)), 2)

    distinct, index = encoder.unique(ids)

    assert torch.equal(distinct[index], ids)
    assert len(distinct) == len({tuple(row) for row in ids.tolist()})


def test_two_words_with_one_fingerprint_are_told_apart(monkeypatch):
    monkeypatch.setattr(torch, "randint", lambda *args, generator: torch.zeros(args[2], dtype=torch.int64))
    ids = torch.from_numpy(words_to_ids(["a", "b", "a"]))
    encoder = CharacterCnnEncoder(CharCnnOptions(2, ((1, 2),)), 2)

    distinct, index = encoder.unique(ids)

    assert len(distinct) == 2
    assert torch.equal(distinct[index], ids)


def test_the_global_random_numbers_are_left_alone():
    encoder, _ = encoder_and_weights()
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    encoder(torch.from_numpy(words_to_ids(WORDS)))

    assert torch.equal(torch.rand(1), expected)


def test_no_words():
    encoder, _ = encoder_and_weights()

    assert encoder(torch.zeros(0, 50, dtype=torch.int64)).shape == (0, 6)


def test_gradients_reach_every_parameter():
    encoder, _ = encoder_and_weights()
    for parameter in encoder.parameters():
        parameter.requires_grad_()
    encoder(torch.from_numpy(words_to_ids(WORDS))).sum().backward()

    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert not encoder.char_embedding.grad[0].any(), "the mask is no character of any word"


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_weights_start_as_in_bilm_tf(activation):
    torch.manual_seed(0)
    encoder = CharacterCnnEncoder(CharCnnOptions(16, ((3, 400),), n_highway=1, activation=activation), 300)

    assert not encoder.char_embedding[0].any()
    assert_uniform(encoder.char_embedding[1:], 1.0)
    (convolution,) = encoder.convolutions
    if activation == "relu":
        assert_uniform(convolution.weight, 0.05)
    else:
        assert_normal(convolution.weight, (3 * 16) ** -0.5)
    assert not convolution.bias.any()
    (highway,) = encoder.highways
    assert_normal(highway.candidate_weight, 400**-0.5)
    assert_normal(highway.gate_weight, 400**-0.5)
    assert not highway.candidate_bias.any()
    assert (highway.gate_bias == -2.0).all()
    assert_normal(encoder.projection.weight, 400**-0.5)
    assert not encoder.projection.bias.any()


def assert_uniform(values, bound):
    assert -bound <= values.min() < -0.99 * bound and 0.99 * bound < values.max() <= bound
    assert abs(float(values.detach().mean())) < 0.05 * bound
    assert float(values.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.05)


def assert_normal(values, deviation):
    assert abs(float(values.detach().mean())) < 0.05 * deviation
    assert float(values.detach().std()) == pytest.approx(deviation, rel=0.05)


def test_boundaries_follow_the_module_and_stay_out_of_its_state():
    encoder = CharacterCnnEncoder(CharCnnOptions(2, ((1, 2),), max_characters_per_token=5), 2)

    assert encoder.boundaries.tolist() == words_to_ids(["<S>", "</S>"], 5).tolist()
    assert "boundaries" not in encoder.state_dict()
    assert encoder.to("meta").boundaries.device.type == "meta"
    assert encoder.half().boundaries.dtype == torch.int64


def test_can_be_pickled():
    for activation in ("relu", "tanh"):
        encoder, _ = encoder_and_weights(activation=activation)
        ids = torch.from_numpy(words_to_ids(WORDS))

        assert torch.equal(pickle.loads(pickle.dumps(encoder))(ids), encoder(ids))


def test_word_level():
    encoder = build_token_encoder(BiLmOptions(LstmOptions(4, 3), n_tokens_vocab=7))
    assert isinstance(encoder, WordEncoder)

    assert encoder.word_embedding.shape == (8, 3)
    assert not encoder.word_embedding[0].any()
    assert encoder.boundaries.tolist() == [1, 2]
    ids = torch.tensor([7, 1, 7])
    assert torch.equal(encoder(ids), encoder.word_embedding[ids])
    assert encoder(torch.zeros(0, dtype=torch.int64)).shape == (0, 3)


CHARACTERS = build_token_encoder(
    BiLmOptions(LstmOptions(4, 3), CharCnnOptions(2, ((1, 2),), max_characters_per_token=20))
)
LEVEL = build_token_encoder(BiLmOptions(LstmOptions(4, 3), n_tokens_vocab=7))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_whole_numbers_of_any_size_pass(dtype):
    CHARACTERS.check(torch.ones(2, 3, 20, dtype=dtype))
    CHARACTERS.check(torch.ones(0, 3, 20, dtype=dtype))
    CHARACTERS.check(torch.ones(2, 0, 20, dtype=dtype))
    LEVEL.check(torch.ones(2, 3, dtype=dtype))
    LEVEL.check(torch.ones(0, 0, dtype=dtype))


def filled(value, *shape, dtype=torch.int64):
    return torch.full(shape, value, dtype=dtype)


@pytest.mark.parametrize(
    "encoder,ids,message",
    [
        (CHARACTERS, filled(1, 2, 3), r'shape \(2, 3\).*\(batch, tokens, 20\): .*token indexer "elmo".*"single_id"'),
        (
            CHARACTERS,
            filled(1, 1, 2, 3, 20),
            r"shape \(1, 2, 3, 20\) .*expected whole numbers of shape \(batch, tokens, 20\)",
        ),
        (CHARACTERS, filled(1, 2, 3, 20, dtype=torch.float32), r"dtype torch.float32, expected whole numbers"),
        (CHARACTERS, filled(1, 2, 3, 20, dtype=torch.bool), r"dtype torch.bool, expected whole numbers"),
        (CHARACTERS, filled(1, 2, 3, 20, dtype=torch.complex64), r"dtype torch.complex64, expected whole numbers"),
        (CHARACTERS, filled(1, 2, 3, 50), r'50 characters per token .* expected 20, .*"max_characters_per_token": 20'),
        (CHARACTERS, filled(262, 2, 3, 20), "ids run from 262 to 262, expected character ids from 0 to 261"),
        (CHARACTERS, filled(-1, 2, 3, 20), "ids run from -1 to -1, expected character ids from 0 to 261"),
        (LEVEL, filled(1, 2, 3, 50), r"shape \(2, 3, 50\).*\(batch, tokens\): this biLM reads words, not characters"),
        (LEVEL, filled(1, 2, 3, dtype=torch.float64), r"dtype torch.float64, expected whole numbers"),
        (LEVEL, filled(8, 2, 3), "ids run from 8 to 8, expected word ids from 0 to 7 for this biLM. Check that"),
        (LEVEL, filled(-5, 2, 3), "ids run from -5 to -5, expected word ids from 0 to 7"),
    ],
)
def test_ids_that_cannot_be_for_this_model_are_refused(encoder, ids, message):
    with pytest.raises(ShapeError, match=message):
        encoder.check(ids)
