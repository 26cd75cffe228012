import copy
import io
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine import backends
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError, ShapeError, WeightFileError
from elmo_plugin.engine.options import BiLmOptions, LstmOptions
from elmo_plugin.engine.state import POLICIES
from elmo_plugin.engine.warm import warm_up
from elmo_plugin.formats.names import to_engine
from tests import tiny
from tests.engine import models
from tests.engine.tolerance import LAYERS, assert_close

TOLERANCE = LAYERS[torch.float64]
SENTENCE = [["The", "cat", "sat", "."]]


def assert_equals_the_equations(model, source, ids, tolerance=TOLERANCE):
    """A model whose state is reset against the equations, row by row."""
    output = model(ids)
    expected = models.expected(source, ids)
    assert output.layers.shape == (model.num_layers, len(ids), ids.shape[1] + 2, model.output_dim)
    for row in range(len(ids)):
        steps = expected[row].shape[1] if row in expected else 0
        assert output.mask[row].tolist() == [True] * steps + [False] * (ids.shape[1] + 2 - steps)
        assert not output.layers[:, row, steps:].any(), "padding is zero"
        if row in expected:
            assert_close(output.layers[:, row, :steps], expected[row], tolerance, f"row {row}")


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"skip": False},
        {"clip": None},
        {"clip": 0.2},
        {"highways": 0},
        {"filters": [(1, 2), (3, 4)]},
        {"cells": 6},
        {"cells": 6, "clip": 0.2},
        {"layers": 1},
        {"layers": 3},
        {"activation": "tanh"},
        {"characters": 10},
        {"characters": 20},
        {"characters": 25},
        {"words": 9},
        {"words": 9, "layers": 1, "cells": 6, "skip": False},
        {"filters": [(3, 6)], "highways": 0, "cells": 6, "clip": None, "skip": False, "layers": 3},
    ],
    ids=str,
)
def test_everything_that_the_options_allow_equals_the_equations(changes, backend):
    source = models.weights(**changes)
    ids = models.ids_for(source.content, [5, 0, 1, 9])

    assert_equals_the_equations(models.bilm(source, backend=backend), source, ids)


@settings(deadline=None, max_examples=25)
@given(models.architectures(), st.lists(st.integers(0, 9), max_size=4), st.integers(0, 99))
def test_drawn_architectures_and_batches_equal_the_equations(changes, lengths, seed):
    source = models.weights(seed=seed, **changes)

    assert_equals_the_equations(models.bilm(source), source, models.ids_for(source.content, lengths, seed))


@settings(deadline=None, max_examples=15)
@given(models.architectures(), st.lists(st.lists(st.integers(0, 6), max_size=4), min_size=2, max_size=5))
def test_carried_state_of_drawn_architectures_equals_the_equations(changes, batches):
    """Batches that grow and shrink, with rows that have no words: those move the state by their boundaries."""
    source = models.weights(**changes)
    model = models.bilm(source, state="carried")
    states = {}

    for number, lengths in enumerate(batches):
        ids = models.ids_for(source.content, lengths, number)
        expected = models.expected(source, ids, states)
        output = model(ids)
        for row, layers in expected.items():
            assert_close(output.layers[:, row, : layers.shape[1]], layers, TOLERANCE, f"call {number}, row {row}")
            assert int(output.mask[row].sum()) == layers.shape[1]


def test_float32_is_within_its_tolerance():
    source = models.weights()

    model = models.bilm(source, dtype=torch.float32)
    assert_equals_the_equations(model, source, models.random_ids([60, 1, 0, 200]), LAYERS[torch.float32])
    assert model(models.random_ids([2])).layers.dtype == torch.float32


@pytest.mark.parametrize(
    "change",
    [
        {"clip": 0.6},
        {"clip": None},
        {"skip": False},
        {"activation": "tanh"},
        {"highways": 0},
        {"highways": 1},
        {"characters": 30},
    ],
    ids=str,
)
def test_each_option_changes_the_vectors(change):
    """So that none is read and then ignored. The weights stay, what is surplus for an option is left out."""
    before = models.weights(clip=0.5)
    content = tiny.options(**{"clip": 0.5, **change})
    kept = {name: values for name, values in before.datasets.items() if name in tiny.datasets(content)}
    words = [["cat", "x" * 35 + "0123456789"]]  # the second word is cut at another place

    vectors = [
        models.bilm(source)(batch_to_ids(words, source.content["char_cnn"]["max_characters_per_token"])).layers
        for source in (before, models.Weights(content, kept))
    ]

    assert (vectors[0] - vectors[1])[-1].abs().max() > 1e-6


@pytest.mark.parametrize("key", ["cell_clip", "proj_clip"])
@pytest.mark.parametrize("cells", [12, 6])
def test_each_clip_alone(key, cells):
    source = models.weights(cells=cells, clip=None)
    ids = models.random_ids([5])
    free = models.bilm(source)(ids).layers
    source.content["lstm"][key] = 0.1

    bound = models.bilm(source)(ids).layers
    has_effect = key == "cell_clip" or cells != 6  # TensorFlow clips the projection only where there is one
    assert bool((free != bound).any()) == has_effect
    assert_equals_the_equations(models.bilm(source), source, ids)


def test_properties():
    model = models.bilm(models.weights(layers=3))

    assert (model.num_layers, model.output_dim, model.state, model.fine_tune) == (4, 12, "reset", False)


def test_token_layer_is_there_twice_side_by_side():
    first = models.bilm()(models.random_ids([3])).layers[0]

    assert torch.equal(first[..., :6], first[..., 6:])


# State


def vectors(model, sentences):
    return model(batch_to_ids(sentences)).layers


def warmed(model):
    warm_up(model)
    return model


def test_the_same_sentence_five_times_drifts_where_state_is_carried():
    model = models.bilm(state="carried")
    calls = [vectors(model, SENTENCE) for _ in range(5)]

    steps = [float((after - before).abs().max()) for before, after in zip(calls, calls[1:])]
    assert all(step > 0 for step in steps)
    assert steps[-1] < steps[0], "the drift fades"


@pytest.mark.parametrize("policy", ["reset", "warm"])
def test_the_same_sentence_five_times_is_the_same_where_each_call_starts_alike(policy):
    model = models.bilm(state=policy)
    if policy == "warm":
        warm_up(model)

    first = vectors(model, SENTENCE)
    for _ in range(4):
        assert torch.equal(vectors(model, SENTENCE), first)


@pytest.mark.parametrize("dtype", LAYERS, ids=str)
@pytest.mark.parametrize("policy", ["reset", "warm"])
def test_a_sentence_does_not_depend_on_its_batch_mates_or_on_earlier_calls(policy, dtype):
    model = models.bilm(state=policy, dtype=dtype)
    if policy == "warm":
        warm_up(model)
    alone = vectors(model, SENTENCE)
    vectors(model, [["another"] * 30, ["call"]])
    mates = [["x" * n, *SENTENCE[0] * (n % 3)] for n in range(8)]
    for place in (0, 3, 7):
        batch = mates[:place] + SENTENCE + mates[place + 1 :]
        assert_close(vectors(model, batch)[:, place, :6], alone[:, 0], LAYERS[dtype])


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_differ_only_in_where_they_start(policy):
    source = models.weights()
    model = models.bilm(source, state=policy)
    if policy == "warm":
        model.warm.set(torch.zeros(2, 12), torch.zeros(2, 24))

    assert_close(vectors(model, SENTENCE), vectors(models.bilm(source), SENTENCE), TOLERANCE)


def test_reset_states():
    model = models.bilm(state="carried")
    first = vectors(model, SENTENCE)
    assert not torch.equal(vectors(model, SENTENCE), first)
    model.reset_states()

    assert torch.equal(vectors(model, SENTENCE), first)


def test_state_follows_the_dtype():
    """Forward, `.double()`, forward."""
    model = models.bilm(state="carried", dtype=torch.float32)
    exact = models.bilm(state="carried")
    vectors(model, SENTENCE)
    vectors(exact, SENTENCE)
    model.double()

    again = vectors(model, SENTENCE)
    assert again.dtype == torch.float64
    assert_close(again, vectors(exact, SENTENCE), LAYERS[torch.float32])
    model.float()
    assert vectors(model, SENTENCE).dtype == torch.float32


def test_state_is_no_part_of_what_is_saved():
    """A model that was saved and loaded begins anew."""
    source = models.weights()
    model = models.bilm(source, state="carried")
    fresh = vectors(models.bilm(source, state="carried"), SENTENCE)
    vectors(model, SENTENCE)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)

    other = models.bilm(models.weights(seed=1), state="carried")
    other.load_state_dict(torch.load(buffer))
    assert torch.equal(vectors(other, SENTENCE), fresh)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_copy_is_the_same_and_independent(policy, copied):
    model = models.bilm(state=policy)
    if policy == "warm":
        warm_up(model)
    vectors(model, SENTENCE)
    other = copied(model)

    assert torch.equal(vectors(other, SENTENCE), vectors(model, SENTENCE))
    vectors(other, [["one", "more"]])
    twin = copied(model)
    assert torch.equal(vectors(twin, SENTENCE), vectors(model, SENTENCE))


def test_unknown_policy():
    with pytest.raises(OptionsError, match="unknown state 'stateless'"):
        models.bilm(state="stateless")


def test_run_from_leaves_the_carried_state_alone():
    model = models.bilm(state="carried")
    twin = copy.deepcopy(model)
    vectors(model, SENTENCE)
    vectors(twin, SENTENCE)

    model.run_from(batch_to_ids([["other", "words"], ["and", "rows"]]), None)
    assert torch.equal(vectors(model, SENTENCE), vectors(twin, SENTENCE))


def test_run_from_gives_the_state_of_each_row_in_the_order_of_the_batch():
    model = models.bilm()
    sentences = [["a"], ["b", "c", "d"], []]
    state = model.run_from(batch_to_ids(sentences), None)

    assert not state.hidden.requires_grad
    for row, sentence in enumerate(sentences):
        alone = model.run_from(batch_to_ids([sentence]), None)
        assert_close(state.hidden[:, row], alone.hidden[:, 0], TOLERANCE)
        assert_close(state.cell[:, row], alone.cell[:, 0], TOLERANCE)


def test_run_from_goes_on():
    model = models.bilm(state="carried")
    first, second = batch_to_ids([["a", "b"], ["c"]]), batch_to_ids([["d"], ["e", "f", "g"]])
    state = model.run_from(second, model.run_from(first, None))

    model(first)
    model(second)
    assert_close(state.hidden, model._states.begin(model.lstm.zero_state(2, state.hidden)).hidden, TOLERANCE)


# Empty rows and batches


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sentences", [[[]], [[], []], [["a"], []], [[], ["a", "b"]], []], ids=str)
def test_empty_sentences(sentences, policy):
    source = models.weights()
    model = models.bilm(source, state=policy)
    if policy == "warm":
        warm_up(model)
    output = model(batch_to_ids(sentences))
    words = max(map(len, sentences), default=0)

    assert output.layers.shape == (3, len(sentences), words + 2, 12)
    assert not output.layers.isnan().any()
    for row, sentence in enumerate(sentences):
        steps = len(sentence) + 2 if sentence or policy == "carried" else 0
        assert output.mask[row].tolist() == [True] * steps + [False] * (words + 2 - steps)
    inner = model.run(batch_to_ids(sentences)).output(with_boundaries=False)
    assert inner.layers.shape == (3, len(sentences), words, 12)
    assert inner.mask.sum(dim=1).tolist() == list(map(len, sentences))


@pytest.mark.parametrize("fine_tune", [False, True])
@pytest.mark.parametrize("policy", ["carried", "reset"])
def test_batches_without_any_row(policy, fine_tune):
    model = models.bilm(state=policy, fine_tune=fine_tune)
    for words in (0, 4):
        output = model(torch.zeros(0, words, 50, dtype=torch.int64))
        assert output.layers.shape == (3, 0, words + 2, 12)
        assert output.mask.shape == (0, words + 2)


@pytest.mark.parametrize("shape", [(2, 0), (2, 3)])
def test_fine_tuning_survives_a_batch_without_words(shape):
    model = models.bilm(fine_tune=True)
    model(torch.zeros(*shape, 50, dtype=torch.int64)).layers.sum().backward()

    for parameter in model.parameters():
        assert parameter.grad is None or not parameter.grad.any()


def test_rows_of_padding_cost_nothing_unless_state_is_carried():
    """60 of 64 sentences of a document are padding."""
    ids = torch.zeros(64, 8, 50, dtype=torch.int64)
    ids[:4] = models.random_ids([8, 8, 3, 1])

    assert models.bilm().run(ids).packing.tokens == 8 + 8 + 3 + 1 + 4 * 2
    assert models.bilm(state="carried").run(ids).packing.tokens == 8 + 8 + 3 + 1 + 64 * 2


# Ids that cannot be right


@pytest.mark.parametrize("ids", [torch.zeros(2, 3), torch.zeros(2, 3, 50), torch.zeros(2, 3, 49, dtype=torch.int64)])
def test_ids_are_checked(ids):
    with pytest.raises(ShapeError, match="^ids have"):
        models.bilm()(ids)
    with pytest.raises(ShapeError, match="^ids have"):
        models.bilm().run_from(ids, None)


@pytest.mark.parametrize("place,row", [((0, 0), 0), ((1, 1), 1)])
def test_padding_in_front_of_words_is_refused(place, row):
    ids = models.random_ids([4, 3])
    ids[place] = 0

    with pytest.raises(ShapeError, match=f"^row {row} of the ids has padding .0. in front of or between its words"):
        models.bilm()(ids)


def test_padding_between_the_words_of_a_word_level_model_is_refused():
    model = models.bilm(models.weights(words=5))

    with pytest.raises(ShapeError, match="^row 1 of the ids has padding"):
        model(torch.tensor([[1, 2, 0], [1, 0, 2]]))


def test_character_ids_for_a_word_level_model_are_refused():
    with pytest.raises(ShapeError, match="this biLM reads words, not characters"):
        models.bilm(models.weights(words=300))(models.random_ids([2]))


def test_both_devices_are_named_where_they_differ():
    with pytest.raises(ShapeError, match=r"ids are on meta, but the biLM is on cpu\. Move .*ids\.to\(device\)"):
        models.bilm()(models.random_ids([2]).to("meta"))
    with pytest.raises(ShapeError, match="ids are on cpu, but the biLM is on meta"):
        models.bilm().to("meta")(models.random_ids([2]))


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32])
def test_ids_of_other_dtypes(dtype):
    model = models.bilm()
    ids = models.random_ids([3, 1])

    assert torch.equal(model(ids.to(dtype)).layers, model(ids).layers)


def test_ids_are_left_alone():
    ids = models.random_ids([3, 1])
    before = ids.clone()
    models.bilm()(ids)

    assert torch.equal(ids, before)


# Training


def test_frozen_keeps_no_graph():
    model = models.bilm()
    packed = model.run(models.random_ids([3, 1]))

    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert all(layer.grad_fn is None and not layer.requires_grad for layer in packed.layers)
    assert model(models.random_ids([3])).layers.grad_fn is None


def test_fine_tuning_gives_every_parameter_a_gradient():
    model = models.bilm(fine_tune=True, state="carried")
    for _ in range(2):  # the second call begins with the state of the first, whose graph is gone
        model.zero_grad()
        model(models.random_ids([5, 3])).layers.sum().backward()

    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert not model.token_encoder.char_embedding.grad[0].any()


@pytest.mark.parametrize("changes", [{"words": 9}, {"cells": 6, "filters": [(2, 6)], "highways": 0}], ids=str)
def test_fine_tuning_of_other_architectures(changes):
    source = models.weights(**changes)
    model = models.bilm(source, fine_tune=True)
    model(models.ids_for(source.content, [5, 3])).layers.sum().backward()

    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_fine_tuned_model_without_gradients(mode):
    """Evaluation between the steps of a training; what it carries over must not break the next step."""
    model = models.bilm(fine_tune=True, state="carried")
    with mode():
        assert not model(models.random_ids([3])).layers.requires_grad

    model(models.random_ids([3, 2])).layers.sum().backward()
    assert model.lstm.forward_layers[0].bias.grad.any()


@pytest.mark.parametrize("fine_tune", [False, True])
def test_autocast_changes_nothing(fine_tune):
    model = models.bilm(dtype=torch.float32, fine_tune=fine_tune, state="carried")
    ids = models.random_ids([4, 2])
    expected = [model(ids).layers for _ in range(2)]
    model.reset_states()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = [model(ids).layers for _ in range(2)]
    for one, other in zip(actual, expected):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)


def test_autocast_changes_no_vector_of_a_word():
    """The language model takes these, and no layers."""
    model = models.bilm(dtype=torch.float32)
    ids = models.random_ids([4])[0]
    expected = model.encode_words(ids)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = model.encode_words(ids)
    assert actual.dtype == torch.float32 and torch.equal(actual, expected)


# Weights


def tensors(source):
    options = BiLmOptions.from_dict(source.content)
    return options, to_engine(options, source.datasets)


def test_weights_do_not_fit():
    options, found = tensors(models.weights())
    found["surplus"] = torch.zeros(2)
    del found["lstm.forward_layers.1.bias"]
    found["token_encoder.projection.bias"] = torch.zeros(3)

    with pytest.raises(WeightFileError, match="(?s)some file: .*1 missing, 1 surplus, 1 of another shape") as caught:
        BiLm(options).load_tensors(found, source="some file")
    for name in ("surplus", "lstm.forward_layers.1.bias", "token_encoder.projection.bias"):
        assert name in str(caught.value)


def test_weights_that_do_not_fit_change_nothing():
    model = models.bilm(dtype=torch.float32)
    before = copy.deepcopy(model.state_dict())
    _, found = tensors(models.weights(seed=1))
    del found["lstm.forward_layers.1.bias"]

    with pytest.raises(WeightFileError):
        model.load_tensors(found, source="some file")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_loading_forgets_the_carried_state():
    source = models.weights()
    model = models.bilm(source, state="carried", dtype=torch.float32)
    first = vectors(model, SENTENCE)
    model.load_tensors(tensors(source)[1], source="again")

    assert torch.equal(vectors(model, SENTENCE), first)


def test_optional_tensors_of_an_earlier_model_do_not_stay():
    """The residual and the warm state belong to the weights that they came with."""
    options, found = tensors(models.weights())
    model = BiLm(options, state="warm")
    residual = "lstm.forward_layers.0.forget_residual"
    extra = {"warm.hidden": torch.ones(2, 12), "warm.cell": torch.ones(2, 24), residual: torch.ones(12)}
    model.load_tensors({**found, **extra}, source="one")
    assert model.warm.is_set and model.state_dict()[residual].all()

    model.load_tensors({name: value for name, value in found.items() if "residual" not in name}, source="another")
    assert not model.warm.is_set
    assert not model.state_dict()[residual].any()


def test_a_warm_state_is_ignored_where_it_is_not_used():
    options, found = tensors(models.weights())
    model = BiLm(options, state="reset")
    model.load_tensors({**found, "warm.hidden": torch.ones(2, 12), "warm.cell": torch.ones(2, 24)}, source="one")

    assert model.warm is None and "warm.hidden" not in model.state_dict()


def test_new_models_can_be_built_and_run_without_weights():
    torch.manual_seed(0)
    model = BiLm(BiLmOptions.from_dict(tiny.options()), state="reset")

    layers = vectors(model, SENTENCE)
    assert not layers.isnan().any() and layers[-1].abs().max() > 0


def test_backend_is_used_or_refused():
    with pytest.raises(BackendUnavailableError, match="unknown backend 'tpu'"):
        BiLm(BiLmOptions(LstmOptions(4, 2), n_tokens_vocab=3), backend="tpu")


def test_precision_of_the_products():
    exact, rounded = (models.bilm(dtype=torch.float32, precision=precision) for precision in ("float32", "float16"))
    if backends.get("cpu").refuses("float16") is not None:
        pytest.skip("no FBGEMM here")
    ids = models.random_ids([4, 2])

    difference = (rounded(ids).layers - exact(ids).layers).abs().amax(dim=(1, 2, 3))

    assert rounded.precision == "float16"
    assert difference[0] == 0 and (difference[1:] > 0).all() and (difference < 0.01).all()


def test_a_precision_is_for_a_frozen_bilm():
    with pytest.raises(
        OptionsError, match="precision 'int8' rounds the weights of a frozen biLM, and fine_tune trains"
    ):
        models.bilm(fine_tune=True, precision="int8")

    frozen = models.bilm(dtype=torch.float32, precision="float16")
    with pytest.raises(OptionsError, match="precision 'float16' rounds the weights of a frozen biLM"):
        frozen.fine_tune = True  # as where a trainer thaws it
    assert not frozen.fine_tune
