import pytest
import torch

pytest.importorskip("h5py")

from elmo_plugin.formats import read_pair, read_weights, write_weights
from elmo_plugin.probes.random_bilm import random_bilm
from tests import tiny


@pytest.mark.parametrize("words", [None, ["the", "cat"]])
def test_same_shape_other_weights_by_the_seed(tmp_path, words):
    paths = tiny.write(tmp_path) if words is None else tiny.write_word_level(tmp_path, words)
    like = read_pair(*paths)
    state = torch.random.get_rng_state()
    one, same, other = random_bilm(like, 1), random_bilm(like, 1), random_bilm(like, 2)

    assert torch.equal(torch.random.get_rng_state(), state)
    assert one.options == like.options and one.vocabulary == like.vocabulary
    assert all(torch.equal(one.tensors[name], same.tensors[name]) for name in one.tensors)
    for different in (like, other):
        assert not all(torch.equal(one.tensors[name], different.tensors[name]) for name in one.tensors)
    write_weights(one, tmp_path / "random.safetensors")
    assert set(read_weights(tmp_path / "random.safetensors").tensors) == set(one.tensors)
