import math

import numpy as np
import pytest
import torch
from hypothesis import given

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.engine.tensor_table import expected_shapes
from elmo_plugin.formats.names import hdf5_shapes, to_engine, to_hdf5
from tests.formats.strategies import arrays_for, assert_same_bits, options

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


def published(cells, projection, highways):
    lstm = LstmOptions(cells, projection, 2, 3.0, 3.0, use_skip_connections=True)
    return BiLmOptions(lstm, CharCnnOptions(16, FILTERS, highways))


SMALL, MEDIUM, ORIGINAL = published(1024, 128, 1), published(2048, 256, 1), published(4096, 512, 2)


@given(options())
def test_file_to_engine_to_file_is_bit_exact(architecture):
    arrays = arrays_for(architecture)
    tensors = to_engine(architecture, arrays)

    shapes = {name: tuple(value.shape) for name, value in tensors.items() if "residual" not in name}
    assert shapes == expected_shapes(architecture)
    assert_same_bits(to_hdf5(architecture, tensors), arrays)


def test_layout_by_hand():
    """Every axis of every dataset, on sizes that are all different."""
    architecture = BiLmOptions(LstmOptions(3, 2, 2), CharCnnOptions(5, ((7, 4),), n_highway=1))
    arrays = arrays_for(architecture)
    tensors = {name: value.numpy() for name, value in to_engine(architecture, arrays).items()}

    assert not tensors["token_encoder.char_embedding"][0].any()
    assert tensors["token_encoder.char_embedding"][1 + 260, 4] == arrays["char_embed"][260, 4]
    assert tensors["token_encoder.convolutions.0.weight"][3, 4, 6] == arrays["CNN/W_cnn_0"][0, 6, 4, 3]
    assert tensors["token_encoder.convolutions.0.bias"][3] == arrays["CNN/b_cnn_0"][3]
    assert tensors["token_encoder.highways.0.candidate_weight"][3, 1] == arrays["CNN_high_0/W_transform"][1, 3]
    assert tensors["token_encoder.highways.0.candidate_bias"][3] == arrays["CNN_high_0/b_transform"][3]
    assert tensors["token_encoder.highways.0.gate_weight"][3, 1] == arrays["CNN_high_0/W_carry"][1, 3]
    assert tensors["token_encoder.highways.0.gate_bias"][3] == arrays["CNN_high_0/b_carry"][3]
    assert tensors["token_encoder.projection.weight"][1, 3] == arrays["CNN_proj/W_proj"][3, 1]
    assert tensors["token_encoder.projection.bias"][1] == arrays["CNN_proj/b_proj"][1]
    for direction, name in enumerate(("forward", "backward")):
        cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell1/LSTMCell/"
        ours = f"lstm.{name}_layers.1."
        # i, f, g, o here; i, j, f, o there
        for gate, place in ((0, 0), (1, 2), (2, 1), (3, 3)):
            here, there = gate * 3 + 2, place * 3 + 2
            assert tensors[ours + "input_weight"][here, 1] == arrays[cell + "W_0"][1, there]
            assert tensors[ours + "recurrent_weight"][here, 1] == arrays[cell + "W_0"][2 + 1, there]
            expected = arrays[cell + "B"][there] + np.float32(1 if gate == 1 else 0)
            assert tensors[ours + "bias"][here] == expected
        assert tensors[ours + "projection_weight"][1, 2] == arrays[cell + "W_P_0"][2, 1]


def test_word_level_has_a_mask_row():
    architecture = BiLmOptions(LstmOptions(3, 2, 1), n_tokens_vocab=4)
    arrays = arrays_for(architecture)
    tensor = to_engine(architecture, arrays)["token_encoder.word_embedding"].numpy()

    assert tensor.shape == (5, 2)
    assert not tensor[0].any()
    assert tensor[1:].tobytes() == arrays["embedding"].tobytes()


def test_parts_that_are_absent():
    """No character projection where F = P, no LSTM projection where D = P, no wrapper around a single layer."""
    names = list(hdf5_shapes(BiLmOptions(LstmOptions(2, 2, 1), CharCnnOptions(5, ((7, 2),)))))

    assert names == [
        "char_embed",
        "CNN/W_cnn_0",
        "CNN/b_cnn_0",
        "RNN_0/RNN/LSTMCell/W_0",
        "RNN_0/RNN/LSTMCell/B",
        "RNN_1/RNN/LSTMCell/W_0",
        "RNN_1/RNN/LSTMCell/B",
    ]


def test_names_and_shapes_of_the_published_original():
    expected = {"char_embed": (261, 16), "CNN_proj/W_proj": (2048, 512), "CNN_proj/b_proj": (512,)}
    for index, (span, count) in enumerate(FILTERS):
        expected[f"CNN/W_cnn_{index}"] = (1, span, 16, count)
        expected[f"CNN/b_cnn_{index}"] = (count,)
    for index in range(2):
        for part in ("carry", "transform"):
            expected[f"CNN_high_{index}/W_{part}"] = (2048, 2048)
            expected[f"CNN_high_{index}/b_{part}"] = (2048,)
    for direction in range(2):
        for layer in range(2):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
            expected.update({cell + "W_0": (1024, 16384), cell + "B": (16384,), cell + "W_P_0": (4096, 512)})

    assert hdf5_shapes(ORIGINAL) == expected


@pytest.mark.parametrize(
    "architecture,parameters",
    [(SMALL, 13_593_312), (MEDIUM, 28_027_744), (ORIGINAL, 93_600_864)],
    ids=["small", "medium", "original"],
)
def test_parameter_counts_of_the_published_models(architecture, parameters):
    """Our count has the mask row, 16 numbers, as AllenNLP's model does; the file lacks it."""
    assert sum(math.prod(shape) for shape in expected_shapes(architecture).values()) == parameters
    assert sum(math.prod(shape) for shape in hdf5_shapes(architecture).values()) == parameters - 16
    if not hasattr(torch, "set_default_device"):
        pytest.skip("torch before 2.0 cannot build a module on the meta device")
    with torch.device("meta"):
        bilm = BiLm(architecture)
    assert {name: tuple(value.shape) for name, value in bilm.named_parameters()} == expected_shapes(architecture)
