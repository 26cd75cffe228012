"""Hypothesis strategies: every architecture that options.json allows, small, and weights for it."""

import numpy as np
import torch
from hypothesis import strategies as st

from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.engine.tensor_table import expected_shapes
from elmo_plugin.formats.names import hdf5_shapes
from elmo_plugin.formats.weight_set import WeightSet

float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def options(draw):
    """Draw an architecture: with and without projections, clips, skip connections, highways, characters."""
    width = draw(st.integers(1, 4))
    lstm = LstmOptions(
        dim=width + draw(st.integers(0, 3)),
        projection_dim=width,
        n_layers=draw(st.integers(1, 3)),
        cell_clip=draw(st.sampled_from([None, 3.0])),
        proj_clip=draw(st.sampled_from([None, 0.5])),
        use_skip_connections=draw(st.booleans()),
    )
    if draw(st.booleans()):
        return BiLmOptions(lstm, n_tokens_vocab=draw(st.integers(3, 6)), training={"dropout": 0.1})
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    filters = draw(st.one_of(st.just(((2, width),)), st.lists(pair, min_size=1, max_size=3).map(tuple)))
    cnn = CharCnnOptions(
        embedding_dim=draw(st.integers(1, 3)),
        filters=filters,
        n_highway=draw(st.integers(0, 2)),
        activation=draw(st.sampled_from(["relu", "tanh"])),
        max_characters_per_token=draw(st.sampled_from([10, 50])),
        n_characters=draw(st.sampled_from([261, 262])),
    )
    return BiLmOptions(lstm, cnn, n_tokens_vocab=draw(st.sampled_from([None, 4])))


@st.composite
def weight_sets(draw):
    """Draw weights under the engine's names; softmax, vocabulary and stored state come and go."""
    architecture = draw(options())
    words = architecture.n_tokens_vocab
    softmax = None
    if draw(st.booleans()):
        words = words or 5
        random = np.random.RandomState(1)
        softmax = {
            "weight": numbers(random, (words, architecture.lstm.projection_dim)),
            "bias": numbers(random, (words,)),
        }
    vocabulary = None
    if words is not None and draw(st.booleans()):
        vocabulary = draw(st.lists(st.text(st.characters(), max_size=4), min_size=words, max_size=words))
    tensors = tensors_for(architecture, draw(st.integers(0, 1000)), warm=draw(st.booleans()))
    return WeightSet(architecture, tensors, softmax, vocabulary)


def tensors_for(architecture, seed=0, warm=False):
    """Make random tensors under the engine's names, with a forget bias around 0, where files lose digits."""
    random = np.random.RandomState(seed)
    tensors = {name: numbers(random, shape) for name, shape in expected_shapes(architecture).items()}
    for name in ("token_encoder.char_embedding", "token_encoder.word_embedding"):
        if name in tensors:
            tensors[name][0] = 0
    if warm:
        layers, width, cells = architecture.lstm.n_layers, architecture.lstm.projection_dim, architecture.lstm.dim
        tensors["warm.hidden"] = numbers(random, (layers, 2 * width))
        tensors["warm.cell"] = numbers(random, (layers, 2 * cells))
    return tensors


def arrays_for(architecture, seed=0):
    """Make random datasets under the names of the hdf5 layout."""
    random = np.random.RandomState(seed)
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in hdf5_shapes(architecture).items()}


def numbers(random, shape):
    """Random normal float32."""
    return torch.from_numpy(random.standard_normal(shape).astype(np.float32))


def assert_same_bits(actual, expected):
    """Compare two mappings of tensors or arrays, bit for bit."""
    assert sorted(actual) == sorted(expected)
    for name, value in expected.items():
        left, right = np.asarray(actual[name]), np.asarray(value)
        assert left.dtype == right.dtype and left.shape == right.shape, name
        assert left.tobytes() == right.tobytes(), name
