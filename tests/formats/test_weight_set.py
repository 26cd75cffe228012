import dataclasses

import pytest
import torch

from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.formats.weight_set import WeightSet, inference_options
from tests.formats.strategies import tensors_for

OPTIONS = BiLmOptions(LstmOptions(3, 2, 1), CharCnnOptions(2, ((1, 3),)))


def changed(name, value):
    tensors = tensors_for(OPTIONS)
    tensors[name] = value
    return WeightSet(OPTIONS, tensors, source="here")


def test_complete_weights_pass():
    WeightSet(OPTIONS, tensors_for(OPTIONS, warm=True)).check()


def test_missing_surplus_and_misshaped_tensors_are_in_one_table():
    weights = changed("lstm.forward_layers.0.bias", torch.zeros(5))
    del weights.tensors["token_encoder.projection.bias"]
    weights.tensors["strange"] = torch.zeros(1)

    with pytest.raises(WeightFileError) as caught:
        weights.check()
    table = [line.split() for line in str(caught.value).splitlines()[1:-1]]
    assert "here: the tensors do not fit the options: 1 missing, 1 surplus, 1 of another shape." in str(caught.value)
    assert table == [
        ["tensor", "problem", "found", "expected"],
        ["token_encoder.projection.bias", "missing", "-", "[2]"],
        ["strange", "surplus", "[1]", "-"],
        ["lstm.forward_layers.0.bias", "shape", "[5]", "[12]"],
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_refused(value):
    bias = torch.zeros(12)
    bias[4] = value

    with pytest.raises(
        WeightFileError, match=r"0\.bias' holds 1 of 12 values that are NaN or infinite, the first at \[4\]"
    ):
        changed("lstm.forward_layers.0.bias", bias).check()


def test_large_numbers_whose_sum_is_not_finite_pass():
    changed("lstm.forward_layers.0.bias", torch.full((12,), 3e38)).check()


def test_whole_numbers_are_refused():
    with pytest.raises(WeightFileError, match=r"0\.bias' holds torch.int64, expected floating-point"):
        changed("lstm.forward_layers.0.bias", torch.zeros(12, dtype=torch.int64)).check()


def test_a_trained_mask_row_is_refused():
    with pytest.raises(WeightFileError, match="row 0 of 'token_encoder.char_embedding' is not zero"):
        changed("token_encoder.char_embedding", torch.ones(262, 2)).check()


def test_softmax_and_vocabulary_must_fit():
    options = dataclasses.replace(OPTIONS, n_tokens_vocab=4)
    softmax = {"weight": torch.zeros(5, 2), "bias": torch.zeros(5)}
    with pytest.raises(WeightFileError, match=r"softmax.weight +shape +\[5, 2\] +\[4, 2\]"):
        WeightSet(options, tensors_for(options), softmax).check()
    with pytest.raises(WeightFileError, match=r"softmax.bias +missing"):
        WeightSet(OPTIONS, tensors_for(OPTIONS), {"weight": torch.zeros(5, 2)}).check()
    WeightSet(OPTIONS, tensors_for(OPTIONS), softmax, list("abcde")).check()
    with pytest.raises(WeightFileError, match="vocabulary has 1 words, expected 5"):
        WeightSet(OPTIONS, tensors_for(OPTIONS), softmax, ["a"]).check()
    with pytest.raises(WeightFileError, match="vocabulary has 1 words, expected 4"):
        WeightSet(options, tensors_for(options), vocabulary=["a"]).check()


def test_inference_counts_262_characters():
    training = dataclasses.replace(OPTIONS, char_cnn=dataclasses.replace(OPTIONS.char_cnn, n_characters=261))

    assert inference_options(training) == inference_options(OPTIONS) == OPTIONS
    words = BiLmOptions(LstmOptions(3, 2), n_tokens_vocab=3)
    assert inference_options(words) is words
