import torch

from elmo_plugin.benchmark import truth
from elmo_plugin.benchmark.peers import Setting
from elmo_plugin.benchmark.sizes import SIZES, random_model

SETTING = Setting(torch.device("cpu"), threads=1)


def test_work_is_that_of_the_published_model():
    """151 million operations in the LSTMs and 53 million in the character CNN for a word of the original."""
    original = SIZES["original"]
    one_word = truth.work(original, [[1]])  # three places, boundaries included

    assert round(one_word / 3e6) == 151 + 53


def test_padding_is_work_for_the_character_cnn_alone():
    original = SIZES["original"]
    ragged, full = truth.work(original, [[10, 1]]), truth.work(original, [[10, 10]])

    assert round((full - ragged) / 9e6) == 151


def test_small_cases_are_compared_in_float64():
    model = random_model("tiny", 0)
    stock = object()
    chooser = truth.Truth(model, SETTING, stock)

    exact = chooser.for_batches([[3, 2]])

    assert exact.precision == "float64"
    assert chooser.for_batches([[1]]) is exact
    assert chooser.for_batches([[10**9]]) is stock


def test_without_allennlp_large_cases_are_compared_with_its_transcription():
    chooser = truth.Truth(random_model("tiny", 0), SETTING, None)

    found = chooser.for_batches([[10**9]])

    assert (found.name, found.precision) == ("transcription", "float32")
