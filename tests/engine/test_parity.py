"""The engine against AllenNLP's own ELMo on the same files: layers, carried state, mixes and gradients."""

import importlib
import json
import os

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.elmo import Elmo
from elmo_plugin.formats import allennlp_names, read_pair
from tests import tiny
from tests.engine import models
from tests.engine.tolerance import GRADIENTS, LAYERS, assert_close, error

allennlp_elmo = pytest.importorskip("allennlp.modules.elmo")

drawn = settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])

#: any text: lone surrogates, empty words, boundary words, more bytes than a row has room for
words = st.text(st.characters(), max_size=4) | st.sampled_from(
    ["", "<S>", "</S>", "x" * 60, "\ud800", "naïve", "日本語" * 10, "cat", "cat", "the", "\x00"]
)
sentences = st.lists(words, max_size=7)
long_or_short = st.integers(1, 12) | st.integers(1, 200)


def write(folder, **changes):
    """
    Write files of random weights whose recurrence calms down as that of trained models does.

    With larger ones a difference in the last digit grows from step to step, and AllenNLP in float32 is as far from
    AllenNLP in float64 as we are.
    """
    content = tiny.options(**changes)
    datasets = tiny.datasets(content)
    for name, values in datasets.items():
        if name.endswith("/W_0"):
            datasets[name] = values * np.float32(0.5)
    return save(folder, content, datasets)


def save(folder, content, datasets):
    import h5py

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "options.json").write_text(json.dumps(content))
    with h5py.File(folder / "weights.hdf5", "w") as target:
        for name, values in datasets.items():
            target[name] = values
    return str(folder / "options.json"), str(folder / "weights.hdf5")


KINDS = {"plain": {}, "tight clips": {"clip": 0.3}, "many layers": {"layers": 3, "highways": 1}}


@pytest.fixture(scope="module", params=KINDS)
def pair(request, tmp_path_factory):
    """Files of random weights; the second has clips that many values run into."""
    return write(tmp_path_factory.mktemp("weights"), **KINDS[request.param])


@pytest.fixture(scope="module")
def calm_pair(tmp_path_factory):
    return write(tmp_path_factory.mktemp("weights"))


def both(pair, dtype, fine_tune=False):
    """AllenNLP's biLM and ours, each with a state that is carried."""
    theirs = allennlp_elmo._ElmoBiLm(*pair, requires_grad=fine_tune).to(dtype)
    weights = read_pair(*pair)
    ours = BiLm(weights.options, fine_tune=fine_tune)
    ours.load_tensors(weights.tensors, weights.source)
    return theirs, ours.to(dtype)


def assert_same_call(theirs, ours, ids, dtype, what=""):
    expected = theirs(ids)
    actual = ours(ids)
    assert torch.equal(actual.mask, expected["mask"])
    for layer, value in enumerate(expected["activations"]):
        difference = float((actual.layers[layer] - value).abs().max())
        assert difference <= LAYERS[dtype], f"{what}, layer {layer}: {difference:.1e} apart"


@pytest.mark.parametrize("dtype", LAYERS, ids=str)
@drawn
@given(batch=st.lists(sentences, min_size=1, max_size=5).filter(any))
def test_any_text(pair, dtype, batch):
    assert_same_call(*both(pair, dtype), batch_to_ids(batch), dtype)


@pytest.mark.parametrize("dtype", LAYERS, ids=str)
@drawn
@given(lengths=st.lists(long_or_short, min_size=1, max_size=4), padding=st.integers(0, 3), seed=st.integers(0, 99))
def test_any_lengths(pair, dtype, lengths, padding, seed):
    ids = models.random_ids(lengths, seed=seed)
    ids = torch.cat([ids, torch.zeros(len(lengths), padding, 50, dtype=torch.int64)], dim=1)

    assert_same_call(*both(pair, dtype), ids, dtype)


@pytest.mark.parametrize("dtype", LAYERS, ids=str)
@drawn
@given(
    batches=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any), min_size=2, max_size=6),
    seed=st.integers(0, 99),
)
def test_carried_state_over_batches_that_grow_and_shrink(calm_pair, dtype, batches, seed):
    """
    Rows without words included.

    Not with tight clips: where the clipped values of a row's state add up to 0, AllenNLP takes the row for unused
    and adds its old state to the new one.
    """
    theirs, ours = both(calm_pair, dtype)

    for number, lengths in enumerate(batches):
        assert_same_call(theirs, ours, models.random_ids(lengths, seed=seed + number), dtype, f"call {number}")


@pytest.mark.parametrize("dtype", LAYERS, ids=str)
def test_state_after_many_calls(pair, dtype):
    """Nothing adds up: the error of the last call is that of the first."""
    theirs, ours = both(pair, dtype)
    for number in range(41):
        ids = models.random_ids([1 + number % 7, 5], seed=number)
        if number % 20 == 0:
            assert_same_call(theirs, ours, ids, dtype, f"call {number}")
        else:
            theirs(ids), ours(ids)


@pytest.mark.parametrize("dtype", GRADIENTS, ids=str)
@settings(drawn, max_examples=4)
@given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_gradients_of_every_parameter(pair, dtype, lengths, seed):
    """When fine-tuned, over two calls, of which the second begins with the state of the first."""
    theirs, ours = both(pair, dtype, fine_tune=True)
    for number in range(2):
        ids = models.random_ids(lengths, seed=seed + number)
        expected = torch.stack(theirs(ids)["activations"])
        arriving = torch.from_numpy(np.random.RandomState(seed).standard_normal(expected.shape)).to(dtype)
        (expected * arriving).sum().backward()
        (ours(ids).layers * arriving).sum().backward()

    gradients = {name: parameter.grad for name, parameter in ours.named_parameters()}
    expected = {"_elmo_lstm." + name: parameter.grad for name, parameter in theirs.named_parameters()}
    actual = gradients_to_allennlp(gradients)
    assert sorted(actual) == sorted(expected)
    for name, gradient in expected.items():
        assert gradient.abs().sum() > 0, name
        assert_close(actual[name], gradient, GRADIENTS[dtype], name)


def gradients_to_allennlp(gradients):
    """Gradients change places and signs as the weights do."""
    return allennlp_names.to_allennlp(gradients)


@pytest.mark.parametrize("keep_boundaries", [False, True])
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("parameters", [None, [0.3, -1.0, 0.6]])
def test_elmo(calm_pair, norm, keep_boundaries, parameters):
    """Mixes, the paper's norm, boundaries, further dimensions, and the gradients of the mix."""
    theirs = allennlp_elmo.Elmo(
        *calm_pair,
        num_output_representations=2,
        do_layer_norm=norm,
        dropout=0.0,
        keep_sentence_boundaries=keep_boundaries,
        scalar_mix_parameters=parameters,
    ).double()
    bilm = both(calm_pair, torch.float64)[1]
    ours = Elmo(
        bilm,
        num_mixes=2,
        layer_norm="batch" if norm else "none",
        keep_boundaries=keep_boundaries,
        initial_weights=parameters,
    ).double()

    for number in range(3):
        ids = models.random_ids([4, 1, 6, 0], seed=number)
        if not keep_boundaries and number == 2:  # AllenNLP cannot do it with boundaries
            ids = ids.view(2, 2, 6, 50)
        expected, actual = theirs(ids), ours(ids)
        assert torch.equal(actual.mask, expected["mask"])
        for one, other in zip(actual.representations, expected["elmo_representations"]):
            # AllenNLP normalises padding too, and leaves what comes of it behind the end of a row
            assert_close(one[actual.mask], other[actual.mask], LAYERS[torch.float64])
    if parameters is None:
        actual.representations[1][actual.mask].sum().backward()
        expected["elmo_representations"][1][actual.mask].sum().backward()
        mix = theirs.scalar_mix_1
        assert_close(ours.mixes[1].gamma.grad, mix.gamma.grad, LAYERS[torch.float64])
        expected_weights = torch.cat([parameter.grad for parameter in mix.scalar_parameters])
        assert_close(ours.mixes[1].weights.grad, expected_weights, LAYERS[torch.float64])


FULL = {
    "cells": 4096,
    "projection": 512,
    "filters": [(1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)],
    "highways": 2,
    "character_dim": 16,
}


@pytest.fixture
def no_first_weights(monkeypatch):
    """Spare AllenNLP the orthogonal matrices that the file's weights replace at once."""
    cell = importlib.import_module("allennlp.modules.lstm_cell_with_projection")
    monkeypatch.setattr(cell, "block_orthogonal", lambda *args: None)


@pytest.fixture(scope="module")
def full_size(tmp_path_factory):
    """Files of the published size, 375 MB, scaled as trained weights are: gates and vectors of ordinary size."""
    content = tiny.options(**FULL)
    datasets = tiny.datasets(content)
    for name in datasets:
        if datasets[name].ndim == 2:
            datasets[name] *= np.float32(2 * datasets[name].shape[0] ** -0.5)
    pair = save(tmp_path_factory.mktemp("full"), content, datasets)
    del datasets
    yield pair
    os.remove(pair[1])


def test_full_size(full_size, no_first_weights):
    theirs, ours = both(full_size, torch.float32)
    with torch.no_grad():
        for number, lengths in enumerate([[9, 4], [3, 12, 1]]):
            assert_same_call(theirs, ours, models.random_ids(lengths, seed=number), torch.float32, f"call {number}")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", LAYERS, ids=str)
def test_full_size_with_long_rows_and_gradients(full_size, no_first_weights, dtype):
    theirs, ours = both(full_size, dtype, fine_tune=True)
    with torch.no_grad():
        for number, lengths in enumerate([[200, 1, 57], [100], [30, 30, 30, 30]]):
            assert_same_call(theirs, ours, models.random_ids(lengths, seed=number), dtype, f"call {number}")
    ids = models.random_ids([12, 5], seed=5)
    torch.stack(theirs(ids)["activations"]).sum().backward()
    ours(ids).layers.sum().backward()
    actual = gradients_to_allennlp({name: parameter.grad for name, parameter in ours.named_parameters()})
    for name, parameter in theirs.named_parameters():
        assert error(actual["_elmo_lstm." + name], parameter.grad) <= GRADIENTS[dtype], name
