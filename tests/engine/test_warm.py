import copy

import pytest
import torch

from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.errors import EngineError, OptionsError, ShapeError
from elmo_plugin.engine.sentence_ids import SentenceIds
from elmo_plugin.engine.warm import ORDINARY_TEXT, SENTENCES_PER_ROW, mean_state, warm_up
from elmo_plugin.engine.words import SPECIAL_WORDS
from tests.engine import models
from tests.engine.tolerance import LAYERS, assert_close

TOLERANCE = LAYERS[torch.float64]
SENTENCES = [["one"], ["two", "words"], ["a", "b", "c"], ["d"], ["e"], ["f"], ["g", "h"], ["i"]]


def test_a_state_that_was_never_computed_is_an_error():
    with pytest.raises(
        EngineError, match=r"no warm state was computed or loaded\. Call elmo_plugin\.engine\.warm\.warm_up"
    ):
        models.bilm(state="warm")(models.random_ids([2]))


def test_mean_state_is_that_behind_carried_text():
    """Two rows of four sentences each; the state behind the first sentence of a row is not ordinary yet."""
    model = models.bilm(state="carried")
    ids = batch_to_ids(SENTENCES)
    states = []
    for turn in range(SENTENCES_PER_ROW):
        model(ids[2 * turn : 2 * turn + 2])
        if turn > 0:
            states.append(model._states.begin(model.lstm.zero_state(2, torch.zeros(1))))
    mean = mean_state(model, ids)

    assert mean.hidden.shape == (2, 1, 12) and mean.cell.shape == (2, 1, 24)
    assert_close(mean.hidden[:, 0], torch.stack([state.hidden for state in states]).mean(dim=(0, 2)), TOLERANCE)
    assert_close(mean.cell[:, 0], torch.stack([state.cell for state in states]).mean(dim=(0, 2)), TOLERANCE)


def test_sentences_that_do_not_fill_a_row_are_left_out():
    model = models.bilm()

    for more in ([], [["x"]], [["x"], ["y"], ["z"]]):
        assert_close(
            mean_state(model, batch_to_ids(SENTENCES + more)).cell,
            mean_state(model, batch_to_ids(SENTENCES)).cell,
            TOLERANCE,
        )


@pytest.mark.parametrize("words", [None, 5])
def test_strings_are_no_sentences(words):
    """Letters would be unknown words, without an error, where the biLM is word-level."""
    model = models.bilm(models.weights(**({} if words is None else {"words": words})), state="warm")
    vocabulary = None if words is None else [*SPECIAL_WORDS, "a", "b"]

    with pytest.raises(ShapeError, match="sentence 1 is the string 'a b', expected a list of words"):
        warm_up(model, [["a"], "a b", ["b"], ["a"]], vocabulary)


def test_warm_up_stores_the_mean_state():
    model = models.bilm(state="warm")
    warm_up(model, SENTENCES)
    expected = mean_state(model, batch_to_ids(SENTENCES))

    assert torch.equal(model.warm.hidden, expected.hidden[:, 0])
    assert torch.equal(model.warm.cell, expected.cell[:, 0])


def test_warm_up_is_deterministic():
    states = []
    for earlier in ([], [["some", "other", "call"]]):
        model = models.bilm(state="warm")
        warm_up(model)
        if earlier:
            model(batch_to_ids(earlier))
            warm_up(model)
        states.append(copy.deepcopy(model.state_dict()))

    assert torch.equal(states[0]["warm.hidden"], states[1]["warm.hidden"])
    assert torch.equal(states[0]["warm.cell"], states[1]["warm.cell"])


def test_calls_begin_with_the_warm_state():
    source = models.weights()
    model = models.bilm(source, state="warm")
    warm_up(model)
    start = {}
    for layer in range(2):
        for direction in range(2):
            hidden, cell = model.warm.hidden[layer].chunk(2)[direction], model.warm.cell[layer].chunk(2)[direction]
            start[direction, layer] = hidden.numpy(), cell.numpy()
    ids = models.random_ids([5, 2])
    expected = models.expected(source, ids, {0: start, 1: start})

    for _ in range(2):
        layers = model(ids).layers
        for row, length in ((0, 5), (1, 2)):
            assert_close(layers[:, row, : length + 2], expected[row], TOLERANCE)


def test_warm_state_survives_saving_and_changes_of_dtype():
    model = models.bilm(state="warm")
    warm_up(model)
    ids = models.random_ids([3])
    expected = model(ids).layers
    other = models.bilm(models.weights(seed=1), state="warm")
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(ids).layers, expected)

    assert_close(other.float()(ids).layers, expected, LAYERS[torch.float32])


def test_mean_state_leaves_the_carried_state_alone():
    model = models.bilm(state="carried")
    twin = copy.deepcopy(model)
    ids = models.random_ids([3])
    model(ids)
    twin(ids)
    mean_state(model, batch_to_ids(SENTENCES))

    assert torch.equal(model(ids).layers, twin(ids).layers)


def test_mean_state_has_no_graph():
    assert not mean_state(models.bilm(fine_tune=True), batch_to_ids(SENTENCES)).cell.requires_grad


def test_word_level():
    model = models.bilm(models.weights(words=9), state="warm")
    vocabulary = [*SPECIAL_WORDS, "the", "and", ".", "a", "of", "was"]

    with pytest.raises(OptionsError, match="a word-level biLM needs its vocabulary"):
        warm_up(model)
    warm_up(model, SENTENCES, vocabulary)
    expected = mean_state(
        model, torch.tensor([[3, 0, 0], [3, 3, 0], [7, 3, 3]] + [[3, 0, 0]] * 3 + [[3, 3, 0], [3, 0, 0]])
    )
    assert torch.equal(model.warm.hidden, expected.hidden[:, 0])
    hidden = model.warm.hidden.clone()
    warm_up(model, vocabulary=vocabulary)
    assert model.warm.is_set and not torch.equal(model.warm.hidden, hidden)
    assert not model(models.random_word_ids([2], 9)).layers.isnan().any()


def test_sentences_become_what_the_model_reads():
    vocabulary = [*SPECIAL_WORDS, "a", "b"]
    by_words, by_characters = models.bilm(models.weights(words=5)), models.bilm()

    assert SentenceIds(by_words, vocabulary)([["b", "x"], ["a"], []]).tolist() == [[5, 3], [4, 0], [0, 0]]
    length = by_characters.options.max_characters_per_token
    assert torch.equal(SentenceIds(by_characters)(SENTENCES), batch_to_ids(SENTENCES, length))
    assert SentenceIds(by_words, vocabulary)([]).shape == (0, 0)
    assert SentenceIds(by_characters)([]).shape == (0, 0, length)


@pytest.mark.parametrize("policy", ["carried", "reset"])
def test_other_policies_are_refused(policy):
    with pytest.raises(OptionsError, match=f"""the biLM has state '{policy}'; only one with state "warm" keeps"""):
        warm_up(models.bilm(state=policy))


def test_too_few_sentences():
    with pytest.raises(OptionsError, match="the warm state needs 4 sentences or more, 3 were given"):
        warm_up(models.bilm(state="warm"), SENTENCES[:3])


def test_text_of_the_module_is_tokenised_and_fills_rows():
    assert len(ORDINARY_TEXT) % SENTENCES_PER_ROW == 0
    assert len(set(ORDINARY_TEXT)) == len(ORDINARY_TEXT)
    for sentence in ORDINARY_TEXT:
        assert sentence.split()[-1] in (".", "?", '"')
