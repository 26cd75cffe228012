import pytest
import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.lexicon import SPECIAL_WORDS, Lexicon
from elmo_plugin.engine.lexicon_encoder import LexiconEncoder
from elmo_plugin.engine.tensor_table import expected_shapes
from tests.engine.test_lexicon import options

WORDS = [*SPECIAL_WORDS, "ab", "c"]


@pytest.mark.parametrize("words", [0, 5])
def test_it_has_the_tensors_of_the_table(words):
    bilm = BiLm(options(words=words))
    shapes = {name: tuple(tensor.shape) for name, tensor in bilm.state_dict().items() if "residual" not in name}

    assert isinstance(bilm.token_encoder, LexiconEncoder)
    assert shapes == expected_shapes(bilm.options)


def test_the_word_and_its_characters_both_count():
    encoder = LexiconEncoder(options())
    ids = Lexicon(options(), WORDS, "x").batch([["ab", "zb", "xb", "c"]])[0]
    both = encoder(ids)
    assert both.shape == (4, 2)
    assert torch.equal(both[1], both[2]) and not torch.equal(both[0], both[1])
    expected = encoder.word_projection.weight @ encoder.word_embedding[4]
    encoder.word_embedding.data.zero_()

    assert torch.allclose(both[0] - encoder(ids)[0], expected, atol=1e-6)


def test_everything_is_trained():
    bilm = BiLm(options(), state="reset", fine_tune=True)
    bilm(Lexicon(options(), WORDS, "x").batch([["ab", "c"], ["a", "b"]])).layers.pow(2).sum().backward()

    assert all(parameter.grad is not None for parameter in bilm.parameters())
    assert bilm.token_encoder.word_embedding.grad.abs().sum() > 0
