"""The stand-in for AllenNLP against AllenNLP, and against the engine's readable backend."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_plugin.benchmark.transcription import Transcription, with_boundaries, without_boundaries
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.elmo import Elmo
from elmo_plugin.formats import read_pair
from tests import tiny
from tests.engine.tolerance import LAYERS, assert_close

CPU = torch.device("cpu")
ARCHITECTURES = {
    "plain": {},
    "tight clips": {"clip": 0.3},
    "tanh, one highway": {"activation": "tanh", "highways": 1},
    "three layers": {"layers": 3},
}
OURS_ALONE = {"no skip": {"skip": False}, "no clip": {"clip": None}, "no projection": {"cells": 6, "projection": 6}}


@pytest.mark.parametrize("dtype", LAYERS, ids=str)
@pytest.mark.parametrize("changes", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_against_allennlp(tmp_path, changes, dtype):
    elmo = pytest.importorskip("allennlp.modules.elmo")
    pair = tiny.write(tmp_path, **changes)
    weights = read_pair(*pair)
    stock = elmo._ElmoBiLm(*pair).to(dtype)
    ids = elmo.batch_to_ids(tiny.SENTENCES)

    output = stock(ids)
    layers = Transcription(weights.options, weights.tensors, dtype, CPU).layers(ids)

    for number, activation in enumerate(output["activations"]):
        expected, _ = elmo.remove_sentence_boundaries(activation, output["mask"])
        assert_close(layers[number], expected, LAYERS[dtype], f"layer {number}")


@pytest.mark.parametrize("dtype", LAYERS, ids=str)
@pytest.mark.parametrize("changes", [*ARCHITECTURES.values(), *OURS_ALONE.values()], ids=[*ARCHITECTURES, *OURS_ALONE])
def test_against_the_reference(tmp_path, changes, dtype):
    weights = read_pair(*tiny.write(tmp_path, **changes))
    bilm = BiLm(weights.options, backend="reference", state="reset").to(dtype)
    bilm.load_tensors(weights.tensors, "test")
    ids = batch_to_ids([sentence for sentence in tiny.SENTENCES if sentence])

    layers = Transcription(weights.options, weights.tensors, dtype, CPU).layers(ids)

    assert_close(layers, Elmo(bilm).raw_layers(ids).layers, LAYERS[dtype])


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any))
def test_rows_do_not_depend_on_each_other(tmp_path, lengths):
    weights = read_pair(*tiny.write(tmp_path))
    bilm = Transcription(weights.options, weights.tensors, torch.float64, CPU)
    ids = batch_to_ids([["w" * (1 + place) for place in range(length)] for length in lengths])

    together = bilm.layers(ids)

    for row in range(len(lengths)):
        assert_close(together[:, row : row + 1], bilm.layers(ids[row : row + 1]), 1e-13, f"row {row}")


def test_boundaries_and_back():
    ids = batch_to_ids([["a", "b"], ["c"], []])

    bounded, lengths = with_boundaries(ids)

    assert lengths.tolist() == [4, 3, 2]
    assert torch.equal(bounded[:, :, 1] == 257, torch.tensor([[True] + [False] * 3] * 3))  # begin of sentence, plus 1
    assert (bounded[:, :, 1] == 258).nonzero().tolist() == [[0, 3], [1, 2], [2, 1]]
    layers = bounded[None].float()
    assert torch.equal(without_boundaries(layers, lengths)[0], ids.float())
