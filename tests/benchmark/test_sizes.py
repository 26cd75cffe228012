from math import prod

import pytest
import torch

from elmo_plugin.benchmark import sizes
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.tensor_table import expected_shapes


@pytest.mark.parametrize("name,expected", [("small", 13_593_312), ("medium", 28_027_744), ("original", 93_600_864)])
def test_published_numbers_of_weights(name, expected):
    assert sum(map(prod, expected_shapes(sizes.SIZES[name]).values())) == expected


def test_seed_decides():
    one, same, other = (sizes.random_model("tiny", seed) for seed in (0, 0, 1))

    for name, tensor in one.tensors.items():
        assert torch.equal(tensor, same.tensors[name])
        assert not torch.equal(tensor, other.tensors[name]), name


def test_nothing_about_the_weights_goes_unnoticed():
    """A bias that is left out changes the vectors by more than any tolerance."""
    model = sizes.random_model("tiny", 0)
    ids = batch_to_ids([["The", "quick", "brown", "fox", "."] * 4])

    def vectors(**changes):
        bilm = BiLm(model.options, state="reset")
        bilm.load_tensors({**model.tensors, **changes}, "test")
        return bilm(ids).layers

    expected = vectors()
    assert 1 < expected.abs().max() < 10
    for name, tensor in model.tensors.items():
        if name.endswith("bias"):
            changed = vectors(**{name: torch.zeros_like(tensor)})
            assert (changed - expected).abs().max() > 1e-3, name


def test_clips_matter():
    model = sizes.random_model("builtin", 0)
    ids = batch_to_ids([["The", "quick", "brown", "fox", "."] * 4])
    outputs = []
    for clip in (3.0, None):
        lstm = model.options.lstm
        options = type(model.options)(
            lstm=type(lstm)(lstm.dim, lstm.projection_dim, lstm.n_layers, clip, clip, lstm.use_skip_connections),
            char_cnn=model.options.char_cnn,
        )
        bilm = BiLm(options, state="reset")
        bilm.load_tensors(model.tensors, "test")
        outputs.append(bilm(ids).layers)

    assert (outputs[0] - outputs[1]).abs().max() > 1e-4


def test_mask_is_zero():
    assert not sizes.random_model("tiny", 0).tensors["token_encoder.char_embedding"][0].any()
