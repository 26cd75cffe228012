"""The token embedder: parity with AllenNLP, every parameter, what trains, what is kept, messages."""

import copy

import h5py
import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.tokenizers import Token
from allennlp.modules.elmo import Elmo as StockElmo
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import ElmoTokenEmbedder, TokenEmbedder

from elmo_plugin.engine import (
    BackendUnavailableError,
    BiLm,
    BiLmOptions,
    OptionsError,
    ShapeError,
    WeightFileError,
    batch_to_ids,
)
from elmo_plugin.formats import read_weights, write_weights
from elmo_plugin.token_embedders.elmo import ElmoEmbedder
from elmo_plugin.token_indexers.elmo import ElmoIndexer
from tests import tiny
from tests.formats import many_langs

TOLERANCE = 5e-6  # float32; the layers of the tiny biLM reach about 3


def build(**parameters):
    embedder = TokenEmbedder.from_params(Params({"type": "elmo", **parameters}))
    assert isinstance(embedder, ElmoEmbedder)
    return embedder


def close(actual, expected, atol=TOLERANCE):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


@pytest.fixture
def files(tmp_path):
    return tiny.write(tmp_path / "bilm")


@pytest.fixture
def weights(files, tmp_path):
    return str(tmp_path / "bilm")


@pytest.fixture
def ids():
    return batch_to_ids(tiny.SENTENCES)


# Parity


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"do_layer_norm": True},
        {"scalar_mix_parameters": [1.0, -0.5, 2.0]},
        {"scalar_mix_parameters": [-9e10, 1.0, -9e10]},
        {"requires_grad": True},
        {"projection_dim": 7},
        {"dropout": 0.3},
    ],
    ids=str,
)
def test_old_parameters_mean_what_they_meant(files, ids, parameters):
    options_file, weight_file = files
    stock = ElmoTokenEmbedder(options_file, weight_file, **parameters)
    ours = build(options_file=options_file, weight_file=weight_file, **parameters)
    if "projection_dim" in parameters:
        ours.projections[0].load_state_dict(stock._projection.state_dict())
    assert ours.get_output_dim() == stock.get_output_dim()

    for _ in range(3):  # state is carried
        torch.manual_seed(3)
        expected = stock(ids)
        torch.manual_seed(3)
        actual = ours(ids)

        close(actual, expected)
        assert actual.requires_grad == expected.requires_grad


def test_gradients_of_a_tuned_bilm_equal_those_of_allennlp(files, ids):
    options_file, weight_file = files
    stock = ElmoTokenEmbedder(options_file, weight_file, requires_grad=True, dropout=0.0)
    ours = build(options_file=options_file, weight_file=weight_file, fine_tune=True, dropout=0.0)
    for module in (stock, ours):
        (module(ids) ** 2).sum().backward()

    gradient = ours.elmo.bilm.lstm.forward_layers[1].input_weight.grad
    expected = stock._elmo._elmo_lstm._elmo_lstm.forward_layer_1.input_linearity.weight.grad
    assert expected.abs().max() > 1
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-4)


def test_further_dimensions_come_back(weights):
    ids = batch_to_ids(tiny.SENTENCES[:4]).view(2, 2, 7, 50)
    embedder = build(weights=weights, state="reset").eval()

    assert embedder(ids).shape == (2, 2, 7, 12)
    close(embedder(ids)[1, 1], embedder(ids[1, 1:])[0])


def test_double_precision_equals_allennlp_to_the_last_digits(files, ids):
    options_file, weight_file = files
    stock = ElmoTokenEmbedder(options_file, weight_file).double().eval()
    ours = build(options_file=options_file, weight_file=weight_file).double().eval()

    assert stock._elmo.scalar_mix_0.gamma.dtype == torch.float64
    close(ours(ids), stock(ids), atol=1e-12)


# Parameters


def test_defaults(weights):
    embedder = build(weights=weights)

    assert embedder.elmo.dropout.p == 0.5
    assert embedder.elmo.bilm.state == "carried"
    assert not embedder.elmo.bilm.fine_tune
    assert embedder.elmo.layers == [0, 1, 2]


@pytest.mark.parametrize("form", ["folder", "weight file", "pair"])
def test_weights_may_be_given_in_several_ways(files, weights, ids, form):
    options_file, weight_file = files
    parameters = {
        "folder": {"weights": weights},
        "weight file": {"weights": weight_file},
        "pair": {"options_file": options_file, "weight_file": weight_file},
    }[form]

    close(build(**parameters).eval()(ids), ElmoTokenEmbedder(options_file, weight_file).eval()(ids))


def test_mixes_stand_side_by_side_and_are_apart(weights, ids):
    embedder = build(weights=weights, num_mixes=2, state="reset").eval()
    single = build(weights=weights, state="reset").eval()(ids)
    assert embedder.get_output_dim() == 24
    close(embedder(ids), torch.cat([single, single], dim=-1))

    with torch.no_grad():
        embedder.elmo.mixes[1].gamma.fill_(3.0)
    close(embedder(ids), torch.cat([single, 3 * single], dim=-1))


def test_each_mix_has_a_projection_of_its_own(weights, ids):
    embedder = build(weights=weights, num_mixes=2, projection_dim=5).eval()

    assert embedder.get_output_dim() == 10
    assert embedder(ids).shape == (5, 7, 10)
    assert not torch.equal(*embedder(ids).chunk(2, dim=-1))


@pytest.mark.parametrize(
    "name,value", [("dropout", None), ("dropout", 1.5), ("dropout", -0.1), ("projection_dim", -3)], ids=str
)
def test_numbers_that_make_no_sense_are_named(weights, name, value):
    with pytest.raises(ConfigurationError, match=f'"{name}" is {value}, expected'):
        build(weights=weights, **{name: value})


@pytest.mark.parametrize("number", [0, -1, None])
def test_no_mix_is_refused(weights, number):
    with pytest.raises(ConfigurationError, match=f'"num_mixes" is {number}, expected at least 1'):
        build(weights=weights, num_mixes=number)


@pytest.mark.parametrize(
    "layers,expected", [("all", [0, 1, 2]), ("last", [2]), (1, [1]), ([0, 2], [0, 2]), (-1, [2]), ([0], [0])], ids=str
)
def test_layers_are_chosen_and_gamma_trains(weights, ids, layers, expected):
    embedder = build(weights=weights, layers=layers, state="reset", dropout=0.0)
    raw = embedder.raw_layers(ids).layers

    vectors = embedder(ids)
    vectors.sum().backward()

    close(vectors, raw[expected].mean(dim=0))
    assert embedder.elmo.mixes[0].gamma.grad.abs() > 0
    assert embedder.mixing_weights()[0]["layers"] == expected


@pytest.mark.parametrize("layers", ["first", 3, [], [0, 0], [0, 7]], ids=str)
def test_layers_that_do_not_exist_are_refused(weights, layers):
    with pytest.raises(OptionsError, match="layers"):
        build(weights=weights, layers=layers)


def test_old_fixed_weights_fix_gamma_too_and_a_start_trains(weights, ids):
    fixed = build(weights=weights, scalar_mix_parameters=[1.0, 2.0, 3.0])
    started = build(weights=weights, initial_weights=[1.0, 2.0, 3.0])

    assert [p.requires_grad for p in fixed.elmo.mixes.parameters()] == [False, False]
    assert [p.requires_grad for p in started.elmo.mixes.parameters()] == [True, True]
    close(fixed.eval()(ids), started.eval()(ids))
    assert fixed.mixing_weights()[0]["weights"] == pytest.approx([0.0900306, 0.2447285, 0.6652410])


def test_layer_norm_forms(weights, ids):
    def first_row(norm, batch):
        embedder = build(weights=weights, layer_norm=norm, state="reset").eval()
        return embedder(batch)[1, :1]

    alone = torch.cat([ids[:0], ids[1:2], ids[1:2]])
    assert torch.equal(first_row(True, ids), first_row("batch", ids))
    assert not torch.allclose(first_row("batch", ids), first_row(False, ids), atol=1e-2)
    # The paper's form lets a sentence depend on its batch mates, the form per token does not.
    assert (first_row("batch", ids) - first_row("batch", alone)).abs().max() > 1e-2
    close(first_row("token", ids), first_row("token", alone))


def test_unknown_layer_norm_is_refused(weights):
    with pytest.raises(OptionsError, match="'rows'.*'none', 'batch', 'token'"):
        build(weights=weights, layer_norm="rows")


def test_words_are_kept_as_said(weights, ids):
    plain, without = build(weights=weights, dropout=0.0), build(weights=weights, dropout=0.0, word_cache=0)
    assert plain.elmo.bilm.word_cache.megabytes == 64
    assert without.elmo.bilm.word_cache is None

    assert torch.equal(plain(ids), without(ids))
    with pytest.raises(OptionsError, match="size of the word cache is -1, expected megabytes above 0"):
        build(weights=weights, word_cache=-1)


def test_precision_rounds_or_is_refused(weights, ids):
    rounded = build(weights=weights, dropout=0.0, precision="float16")
    close(rounded(ids), build(weights=weights, dropout=0.0)(ids), atol=1e-2)
    assert rounded.elmo.bilm.precision == "float16"

    with pytest.raises(BackendUnavailableError, match="precision 'int8' cannot be had here: the backend 'reference'"):
        build(weights=weights, backend="reference", precision="int8")
    with pytest.raises(OptionsError, match="rounds the weights of a frozen biLM"):
        build(weights=weights, fine_tune=True, precision="int8")


def test_backend_is_used_or_refused(weights, ids):
    reference = build(weights=weights, backend="reference").eval()
    close(reference(ids), build(weights=weights, backend="cpu").eval()(ids))
    with pytest.raises(BackendUnavailableError, match="tpu"):
        build(weights=weights, backend="tpu")


def test_unknown_state_is_refused(weights):
    with pytest.raises(OptionsError, match="'kept'"):
        build(weights=weights, state="kept")


def test_dropout_acts_in_training_only(weights, ids):
    embedder = build(weights=weights, state="reset", dropout=0.9)

    assert (embedder(ids)[0, :7] == 0).float().mean() > 0.8
    assert torch.equal(embedder.eval()(ids), embedder(ids))


@pytest.mark.parametrize(
    "parameters,names",
    [
        ({"options_file": "o.json"}, ["weights", "options_file"]),
        ({"weight_file": "w.hdf5"}, ["weights", "weight_file"]),
        ({"layer_norm": "token", "do_layer_norm": True}, ["layer_norm", "do_layer_norm"]),
        ({"fine_tune": True, "requires_grad": False}, ["fine_tune", "requires_grad"]),
        ({"layers": "last", "scalar_mix_parameters": [0.0]}, ["layers", "scalar_mix_parameters"]),
        (
            {"initial_weights": [0.0, 0.0, 0.0], "scalar_mix_parameters": [0.0, 0.0, 0.0]},
            ["initial_weights", "scalar_mix_parameters"],
        ),
    ],
    ids=str,
)
def test_contradicting_parameters_are_both_named(weights, parameters, names):
    with pytest.raises(ConfigurationError) as caught:
        build(weights=weights, **parameters)

    assert all(f'"{name}"' in str(caught.value) for name in names)


def test_same_value_under_both_names_is_fine(weights):
    assert build(weights=weights, fine_tune=True, requires_grad=True).elmo.bilm.fine_tune


def test_half_a_pair_is_refused(files):
    with pytest.raises(ConfigurationError, match='"weight_file" is given without "options_file"'):
        build(weight_file=files[1])


def test_unknown_parameter_is_refused(weights):
    with pytest.raises(ConfigurationError, match="num_mixs"):
        build(weights=weights, num_mixs=2)


def test_wrong_pair_of_files_is_one_table(files, tmp_path):
    other = tiny.write(tmp_path / "other", layers=3)

    with pytest.raises(WeightFileError, match="missing") as caught:
        build(options_file=other[0], weight_file=files[1])
    assert "RNN_1" in str(caught.value)


def test_task_weights_do_not_depend_on_the_bilm(files, tmp_path):
    tiny.write(tmp_path / "large", cells=20, projection=9)
    drawn = []
    for name in ("bilm", "large"):
        torch.manual_seed(0)
        build(weights=str(tmp_path / name))
        drawn.append(torch.rand(1))

    assert drawn[0] == drawn[1]


# What trains


def test_frozen_keeps_no_graph_through_the_bilm_and_trains_the_mix(weights, ids):
    embedder = build(weights=weights)
    layers = embedder.raw_layers(ids).layers
    embedder(ids).sum().backward()

    assert not layers.requires_grad
    assert all(not p.requires_grad and p.grad is None for p in embedder.elmo.bilm.parameters())
    assert embedder.elmo.mixes[0].weights.grad.abs().min() > 0
    assert embedder.elmo.mixes[0].gamma.grad.abs() > 0


def test_tuned_gives_a_gradient_to_every_parameter(weights, ids):
    embedder = build(weights=weights, fine_tune=True)
    embedder(ids).pow(2).sum().backward()

    without = [name for name, p in embedder.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert without == []


def test_state_keeps_no_graph_from_call_to_call(weights, ids):
    embedder = build(weights=weights, fine_tune=True)
    for _ in range(2):
        embedder(ids).sum().backward()


def test_parameters_that_a_trainer_freezes_or_thaws(weights, ids):
    embedder = build(weights=weights, fine_tune=True)
    embedder.requires_grad_(False)
    assert not embedder.raw_layers(ids).layers.requires_grad

    embedder.elmo.bilm.lstm.requires_grad_(True)
    embedder(ids).sum().backward()
    assert embedder.elmo.bilm.lstm.forward_layers[0].bias.grad is not None
    assert embedder.elmo.bilm.token_encoder.char_embedding.grad is None


# State


def test_same_sentence_again(weights):
    ids = batch_to_ids([["The", "cat", "sat", "."]])
    carried, reset, warm = (build(weights=weights, state=state).eval() for state in ("carried", "reset", "warm"))

    first = {embedder: embedder(ids) for embedder in (carried, reset, warm)}
    for _ in range(4):
        again = carried(ids)
        assert (again - first[carried]).abs().max() > 1e-3
        assert torch.equal(reset(ids), first[reset])
        assert torch.equal(warm(ids), first[warm])
    close(first[carried], first[reset])
    assert (first[warm] - first[reset]).abs().max() > 1e-3
    carried.reset_states()
    assert torch.equal(carried(ids), first[carried])


@pytest.mark.parametrize("state", ["reset", "warm"])
def test_vectors_do_not_depend_on_batch_mates(weights, state):
    embedder = build(weights=weights, state=state).eval()
    sentence = ["The", "cat", "sat", "."]
    mates = [["w"] * length for length in (9, 1, 4, 2, 7, 3, 5)]

    alone = embedder(batch_to_ids([sentence]))[0]
    for place in (0, 3, 7):
        batch = mates[:place] + [sentence] + mates[place:]
        close(embedder(batch_to_ids(batch))[place, :4], alone)


def test_saved_and_loaded_starts_anew_with_dropout_off(weights, ids):
    embedder = build(weights=weights)
    expected = build(weights=weights).eval()(ids)
    embedder(ids)  # leaves a state behind

    other = build(weights=weights).eval()
    other(ids)
    other.load_state_dict(embedder.state_dict())

    close(other(ids), expected)


def test_state_follows_the_module(weights, ids):
    embedder = build(weights=weights).eval()
    double = build(weights=weights).double().eval()
    embedder(ids), double(ids)

    close(embedder.double()(ids), double(ids), atol=1e-5)


def test_ids_on_another_device_name_both(weights, ids):
    with pytest.raises(ShapeError, match="ids are on meta, but the biLM is on cpu"):
        build(weights=weights)(ids.to("meta"))


def test_every_constant_is_a_buffer(weights):
    embedder = build(weights=weights, state="warm").to("meta")

    left_behind = [
        name
        for module in embedder.modules()
        for name, value in vars(module).items()
        if isinstance(value, torch.Tensor) and value.device.type != "meta"
    ]
    assert left_behind == []


def test_a_copy_has_a_state_of_its_own(weights, ids):
    embedder = build(weights=weights).eval()
    first = embedder(ids)
    twin = copy.deepcopy(embedder)
    twin.reset_states()

    assert torch.equal(twin(ids), first)
    assert not torch.equal(embedder(ids), first)


def test_a_model_saved_warm_loads_carried_and_the_other_way_round(weights, ids):
    carried, warm = (build(weights=weights, state=state).eval() for state in ("carried", "warm"))
    fresh = build(weights=weights).eval()(ids)
    warmed = warm(ids)

    carried.load_state_dict(warm.state_dict())
    close(carried(ids), fresh)

    other = build(weights=weights, state="warm").eval()
    other.load_state_dict(build(weights=weights).state_dict())
    close(other(ids), warmed)


def test_warm_state_that_is_saved_is_that_of_the_weights_that_were_loaded(weights, tmp_path):
    tiny.write(tmp_path / "other", seed=1)
    expected = build(weights=str(tmp_path / "other"), state="warm").elmo.bilm.warm.hidden
    saved = build(weights=str(tmp_path / "other"), state="reset").state_dict()

    for write in (lambda e: e.state_dict()["elmo.bilm.warm.hidden"], lambda e: e.weight_set().tensors["warm.hidden"]):
        embedder = build(weights=weights, state="warm")
        embedder.load_state_dict(saved)
        assert torch.equal(write(embedder), expected)


# The layers themselves


def test_raw_layers_equal_those_of_allennlp(files, weights, ids):
    stock = StockElmo(*files, 1)._elmo_lstm(ids)
    raw = build(weights=weights).raw_layers(ids)

    assert raw.layers.shape == (3, 5, 7, 12)
    assert torch.equal(raw.mask.sum(1), torch.tensor([7, 1, 0, 4, 3]))
    for ours, theirs in zip(raw.layers, stock["activations"]):
        close(ours[0], theirs[0, 1:8])
        close(ours[3, :4], theirs[3, 1:5])


def test_two_mixes_are_equal_but_layers_differ(weights, ids):
    first, second = build(weights=weights, num_mixes=2).eval()(ids).chunk(2, dim=-1)
    layers = build(weights=weights).raw_layers(ids).layers

    assert torch.equal(first, second)
    assert all((layers[i] - layers[j]).abs().max() > 0.1 for i, j in ((0, 1), (0, 2), (1, 2)))


def test_report_of_the_mix(weights):
    embedder = build(weights=weights, layers=[0, 2], num_mixes=2)
    with torch.no_grad():
        embedder.elmo.mixes[1].weights.copy_(torch.tensor([0.0, 1.0986123]))
        embedder.elmo.mixes[1].gamma.fill_(2.5)

    first, second = embedder.mixing_weights()
    assert first == {"layers": [0, 2], "weights": [0.5, 0.5], "gamma": 1.0}
    assert second["weights"] == pytest.approx([0.25, 0.75])
    assert second["gamma"] == 2.5


@pytest.mark.parametrize("state", ["carried", "warm"])
def test_bilm_is_exported_bit_for_bit(files, weights, tmp_path, state):
    embedder = build(weights=weights, state=state, fine_tune=True)
    (tmp_path / "out").mkdir()

    write_weights(embedder.weight_set(), tmp_path / "out" / "weights.hdf5")

    with h5py.File(files[1]) as before, h5py.File(tmp_path / "out" / "weights.hdf5") as after:
        names = []
        before.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert len(names) > 20
        assert all(before[name][...].tobytes() == after[name][...].tobytes() for name in names)


# Odd input


@pytest.mark.parametrize("state", ["carried", "reset"])
@pytest.mark.parametrize("sentences", [[[], ["a"]], [[]], [[], []], [["a"], []], []], ids=str)
def test_empty_sentences_keep_their_place(weights, sentences, state):
    embedder = build(weights=weights, state=state).eval()
    ids = batch_to_ids(sentences)
    longest = max([len(sentence) for sentence in sentences], default=0)

    assert embedder(ids).shape == (len(sentences), longest, 12)
    assert embedder.raw_layers(ids).layers.shape == (3, len(sentences), longest, 12)


def test_padding_is_zero(weights, ids):
    vectors = build(weights=weights).eval()(ids)

    assert (vectors[1, 1:] == 0).all() and (vectors[2] == 0).all()
    assert (vectors[0] != 0).any(-1).all()


@pytest.mark.parametrize("characters", [10, 20, 25])
def test_rows_of_another_length(tmp_path, characters):
    tiny.write(tmp_path / "bilm", characters=characters)
    embedder = build(weights=str(tmp_path / "bilm")).eval()

    assert embedder(batch_to_ids(tiny.SENTENCES, characters)).shape == (5, 7, 12)
    with pytest.raises(ShapeError, match=f"50 characters per token.*expected {characters}") as caught:
        embedder(batch_to_ids(tiny.SENTENCES))
    assert f'"max_characters_per_token": {characters}' in str(caught.value)


@pytest.mark.parametrize("name", ["single_id", "characters"])
def test_indexer_that_does_not_fit_is_named(weights, name):
    vocabulary = Vocabulary({"tokens": {"a": 1}, "token_characters": {"a": 1}})
    parameters = {"type": name, "min_padding_length": 3} if name == "characters" else {"type": name}
    indexer = TokenIndexer.from_params(Params(parameters))
    indexed = indexer.tokens_to_indices([Token("a"), Token("a")], vocabulary)
    tensors = indexer.as_padded_tensor_dict(indexed, indexer.get_padding_lengths(indexed))
    field = {"elmo": {key: value.unsqueeze(0) for key, value in tensors.items()}}
    embedder = BasicTextFieldEmbedder({"elmo": build(weights=weights)})

    with pytest.raises(ConfigurationError, match='got token.*, expected elmo_tokens. Use the token indexer "elmo"'):
        embedder(field)


@pytest.mark.parametrize("ids", [torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3, 50)], ids=["rank", "dtype"])
def test_tensor_that_cannot_be_characters_is_refused(weights, ids):
    with pytest.raises(ShapeError, match='token indexer "elmo"'):
        build(weights=weights)(ids)


def test_it_fits_its_indexer_inside_a_text_field_embedder(weights, ids):
    embedder = build(weights=weights, state="reset").eval()
    field = BasicTextFieldEmbedder({"elmo": embedder})
    indexed = ElmoIndexer().tokens_to_indices([Token(word) for word in tiny.SENTENCES[0]], Vocabulary())
    tensors = ElmoIndexer().as_padded_tensor_dict(indexed, {"elmo_tokens": 7})

    close(field({"elmo": {key: value.unsqueeze(0) for key, value in tensors.items()}})[0], embedder(ids)[0])
    wrapped = field({"elmo": {"elmo_tokens": ids.unsqueeze(0)}}, num_wrapping_dims=1)
    close(wrapped[0], embedder(ids))


def test_old_cache_of_words_is_accepted_and_exact(weights, ids):
    cached = build(weights=weights, vocab_to_cache=["first", "cat", "@@UNKNOWN@@"]).eval()

    close(cached(ids, torch.ones(5, 7, dtype=torch.long)), build(weights=weights).eval()(ids))


# Word-level models


@pytest.fixture
def word_level(tmp_path):
    tiny.write_word_level(tmp_path / "words", ["the", "cat"])
    return str(tmp_path / "words")


@pytest.mark.parametrize("state", ["carried", "reset", "warm"])
def test_word_level_bilm(word_level, state):
    embedder = build(weights=word_level, state=state).eval()
    ids = torch.tensor([[4, 5, 3], [5, 0, 0]])

    vectors = embedder(ids)
    assert vectors.shape == (2, 3, 12)
    assert (vectors[1, 1:] == 0).all()


def test_word_level_bilm_equals_the_engine(word_level):
    found = read_weights(word_level)
    bilm = BiLm(BiLmOptions.from_dict(found.options.to_dict()), backend="reference")
    bilm.load_tensors(found.tensors, "test")
    ids = torch.tensor([[4, 5, 3]])

    close(build(weights=word_level).raw_layers(ids).layers, bilm(ids).layers[:, :, 1:-1])


def test_word_level_bilm_refuses_characters(word_level):
    with pytest.raises(ConfigurationError, match='look like characters.*"weights": '):
        build(weights=word_level)(batch_to_ids([["the", "cat"]]))


def test_word_level_bilm_takes_further_dimensions(tmp_path):
    tiny.write_word_level(tmp_path, [f"word{number}" for number in range(300)])
    embedder = build(weights=str(tmp_path), state="reset").eval()
    ids = torch.tensor([[[4, 5, 0], [0, 0, 0]], [[259, 5, 3], [259, 0, 0]]])  # 259 begins a word of characters

    close(embedder(ids).view(4, 3, -1), embedder(ids.view(4, 3)))
    assert torch.equal(embedder(torch.zeros_like(ids)), torch.zeros(2, 2, 3, 12))


# Old checkpoints


def test_checkpoint_of_allennlps_embedder_loads(files, weights, ids):
    stock = ElmoTokenEmbedder(*files, projection_dim=4, requires_grad=True).eval()
    with torch.no_grad():
        for number, parameter in enumerate(stock.parameters()):
            parameter.add_(0.01 * (number + 1))
    ours = build(weights=weights, projection_dim=4).eval()

    ours.load_state_dict(stock.state_dict())

    close(ours(ids), stock(ids))


def test_weights_of_another_bilm_are_refused_where_the_shapes_fit(weights, tmp_path):
    tiny.write(tmp_path / "other", clip=1.0)

    with pytest.raises(ConfigurationError, match="cell_clip"):
        build(weights=weights).load_state_dict(build(weights=str(tmp_path / "other")).state_dict())


def test_weights_of_another_vocabulary_are_refused(word_level, tmp_path):
    tiny.write_word_level(tmp_path / "other", ["cat", "the"])
    saved = build(weights=word_level).state_dict()
    (tmp_path / "words").rename(tmp_path / "moved")

    build(weights=str(tmp_path / "moved")).load_state_dict(saved)
    with pytest.raises(ConfigurationError, match="other words, or the same ones in another order"):
        build(weights=str(tmp_path / "other")).load_state_dict(saved)


def test_weights_of_other_characters_are_refused(tmp_path):
    one, other = (many_langs.write(tmp_path / name, word_dim=0) for name in ("one", "other"))
    characters = other / "char.dic"
    characters.write_text(characters.read_text(encoding="utf-8").replace("h", "x"), encoding="utf-8")

    with pytest.raises(ConfigurationError, match="lexicon"):
        build(weights=str(one)).load_state_dict(build(weights=str(other)).state_dict())


# The layer cache


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("lmdb")
    return str(tmp_path / "cache")


@pytest.mark.parametrize("state", ["reset", "warm"])
@pytest.mark.parametrize("parameters", [{}, {"layer_norm": True, "num_mixes": 2}, {"layers": "last"}], ids=str)
def test_cached_equals_computed(weights, folder, ids, state, parameters):
    expected = build(weights=weights, state=state, **parameters).eval()(ids)
    for computed, read in ((4, 0), (0, 4)):
        embedder = build(weights=weights, state=state, cache=folder, **parameters).eval()

        assert torch.equal(embedder(ids), expected)
        counts = embedder.elmo.cache.counts
        assert (counts.computed, counts.read) == (computed, read)


def test_settings_of_the_cache(weights, folder, ids):
    cache = {"folder": folder, "dtype": "float16", "max_gigabytes": 0.5}
    embedder = build(weights=weights, state="reset", cache=cache).eval()

    assert repr(embedder.elmo.cache) == f"LayerCache({folder!r}, dtype='float16', max_gigabytes=0.5)"
    close(embedder(ids), build(weights=weights, state="reset").eval()(ids), atol=3e-3)


@pytest.mark.parametrize("parameters", [{}, {"state": "reset", "fine_tune": True}], ids=str)
def test_what_cannot_be_cached_is_refused(weights, folder, parameters):
    with pytest.raises(ConfigurationError, match='"cache"'):
        build(weights=weights, cache=folder, **parameters)


def test_thawed_bilm_is_run(weights, folder, ids):
    embedder = build(weights=weights, state="reset", cache=folder, dropout=0.0)
    embedder(ids)
    bias = embedder.elmo.bilm.lstm.forward_layers[0].bias
    bias.requires_grad_(True)
    embedder(ids).sum().backward()

    assert bias.grad.abs().max() > 0
    with torch.no_grad():
        bias += 0.1
    bias.requires_grad_(False)
    plain = build(weights=weights, state="reset", dropout=0.0)
    plain.load_state_dict(embedder.state_dict())
    assert torch.equal(embedder(ids), plain(ids))


def test_cache_knows_the_weights_that_were_loaded(weights, folder, ids, tmp_path):
    tiny.write(tmp_path / "other", seed=5)
    embedder = build(weights=weights, state="reset", cache=folder).eval()
    other = build(weights=str(tmp_path / "other"), state="reset").eval()
    embedder(ids)
    embedder.load_state_dict(other.state_dict())

    assert torch.equal(embedder(ids), other(ids))
