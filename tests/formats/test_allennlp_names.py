import pytest
import torch
from hypothesis import given

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.engine.tensor_table import expected_shapes
from elmo_plugin.formats import read_pair
from elmo_plugin.formats.allennlp_names import from_allennlp, to_allennlp
from tests import tiny
from tests.formats.strategies import assert_same_bits, options, tensors_for


@given(options().filter(lambda architecture: not architecture.is_word_level))
def test_there_and_back_is_bit_exact(architecture):
    tensors = tensors_for(architecture, warm=True)
    state = to_allennlp(tensors)

    assert_same_bits(from_allennlp(state), {name: tensors[name] for name in expected_shapes(architecture)})


@pytest.mark.parametrize("changes", [{}, {"layers": 3, "highways": 0, "activation": "tanh"}], ids=["usual", "unusual"])
def test_equals_the_state_dict_of_allennlp(tmp_path, changes):
    elmo = pytest.importorskip("allennlp.modules.elmo")
    options_file, weight_file = tiny.write(tmp_path, **changes)
    state = elmo.Elmo(options_file, weight_file, num_output_representations=2).state_dict()
    weights = read_pair(options_file, weight_file)

    theirs = {name: value for name, value in state.items() if not name.startswith("scalar_mix")}
    ours = {name: weights.tensors[name] for name in expected_shapes(weights.options)}
    assert_same_bits(to_allennlp(weights.tensors), theirs)
    assert_same_bits(from_allennlp(state), ours)


def test_what_allennlp_has_no_place_for_is_left_out(tmp_path):
    weights = read_pair(*tiny.write(tmp_path))

    assert any(name.endswith("forget_residual") for name in weights.tensors)
    bilm = BiLm(weights.options)
    bilm.load_tensors(from_allennlp(to_allennlp(weights.tensors)), "AllenNLP's names")
    for name in expected_shapes(weights.options):
        assert torch.equal(bilm.state_dict()[name], weights.tensors[name])


def test_the_cache_of_words_and_the_mixes_are_left_out():
    state = {"_elmo_lstm._word_embedding.weight": torch.zeros(3, 2), "scalar_mix_0.gamma": torch.ones(1)}

    assert from_allennlp(state) == {}


def test_unknown_names_are_refused():
    with pytest.raises(WeightFileError, match=r"no tensor for token_encoder\.word_embedding"):
        to_allennlp({"token_encoder.word_embedding": torch.zeros(3, 2)})
    with pytest.raises(WeightFileError, match=r"not a tensor of AllenNLP's Elmo: _elmo_lstm\.strange"):
        from_allennlp({"_elmo_lstm.strange": torch.zeros(3, 2)})
