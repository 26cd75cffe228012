"""What changes the fingerprint of a biLM, what does not, and how changes are noticed."""

import copy

import pytest
import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine import fingerprint as module
from elmo_plugin.engine.backends.base import PRECISIONS
from elmo_plugin.engine.fingerprint import Fingerprint, fingerprint
from tests.engine import models


def warm_bilm():
    model = models.bilm(state="warm")
    model.warm.set(torch.full((2, 12), 0.1), torch.full((2, 24), 0.2))
    return model


def changed_state():
    model = warm_bilm()
    with torch.no_grad():
        model.warm.cell[0, 0] += 1e-9
    return model


def changed_bit(name):
    model = models.bilm()
    tensor = model.state_dict()[name].view(-1)
    tensor[-1] = torch.nextafter(tensor[-1], torch.tensor(9.0, dtype=tensor.dtype))
    return model


DIFFERENT = {
    "plain": lambda: models.bilm(),
    "weights": lambda: models.bilm(models.weights(seed=1)),
    "last bit of a weight": lambda: changed_bit("lstm.backward_layers.1.recurrent_weight"),
    "last bit of the characters": lambda: changed_bit("token_encoder.char_embedding"),
    "float32": lambda: models.bilm(dtype=torch.float32),
    "rounded products": lambda: models.bilm(dtype=torch.float32, precision="float16"),
    "clip": lambda: models.bilm(models.weights(clip=1.0)),
    "no clip": lambda: models.bilm(models.weights(clip=None)),
    "no skip connection": lambda: models.bilm(models.weights(skip=False)),
    "activation": lambda: models.bilm(models.weights(activation="tanh")),
    "row length": lambda: models.bilm(models.weights(characters=25)),
    "word-level": lambda: models.bilm(models.weights(words=9)),
    "carried": lambda: models.bilm(state="carried"),
    "warm": warm_bilm,
    "warm from elsewhere": changed_state,
}


def test_everything_that_decides_the_layers_counts():
    values = {name: fingerprint(make()) for name, make in DIFFERENT.items()}

    assert len(set(values.values())) == len(values)
    assert all(len(value) == 32 for value in values.values())


def test_nothing_else_counts():
    model = models.bilm()
    expected = fingerprint(model)

    assert fingerprint(models.bilm()) == expected
    assert fingerprint(models.bilm(backend="reference")) == expected
    assert fingerprint(copy.deepcopy(model).train()) == expected
    model.lstm.forward_layers[0].forget_residual += 1
    model.requires_grad_(True)
    assert fingerprint(model) == expected
    trained = models.weights()
    trained.content["dropout"] = 0.1
    assert fingerprint(models.bilm(trained)) == expected


def test_backends_count_where_they_round_each_in_their_own_way(require_backend):
    """A layer cache or an index of one would be read by the other, whose vectors are off by hundredths."""
    require_backend("compiled")
    if backends.get("cpu").refuses("int8") is not None:
        pytest.skip("no int8 of PyTorch here")
    found = {
        (precision, name): fingerprint(models.bilm(dtype=torch.float32, precision=precision, backend=name))
        for precision in PRECISIONS
        for name in ("compiled", "cpu", "auto")
    }

    assert found["int8", "compiled"] != found["int8", "cpu"]
    assert found["int8", "auto"] == found["int8", "compiled"]
    assert len(set(found.values())) == len(PRECISIONS) + 1


def test_large_tensors_are_read_in_pieces(monkeypatch):
    expected = fingerprint(models.bilm())
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", 24)

    assert fingerprint(models.bilm()) == expected


@pytest.fixture
def computed(monkeypatch):
    calls = []

    def count(bilm):
        calls.append(bilm)
        return fingerprint(bilm)

    monkeypatch.setattr(module, "fingerprint", count)
    return calls


def in_place(model):
    with torch.no_grad():
        model.lstm.forward_layers[0].bias += 1e-7


def one_value(model):
    with torch.no_grad():
        model.token_encoder.char_embedding[77, 1] = 0.123


def through_data(model):
    model.lstm.forward_layers[1].input_weight.data.mul_(1.001)


def other_tensor(model):
    weight = model.lstm.backward_layers[0].input_weight
    weight.data = weight.data * 1.001


def optimizer_step(model):
    model.requires_grad_(True)
    model(models.random_ids([2])).layers.sum()
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.SGD(model.parameters(), lr=1e-3).step()


def loading(model):
    model.load_state_dict(models.bilm(models.weights(seed=1)).state_dict())


def halving(model):
    model.float()


CHANGES = [in_place, one_value, through_data, other_tensor, optimizer_step, loading, halving]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_changes_are_noticed(computed, change):
    model, tracked = models.bilm(), Fingerprint()
    before = tracked.of(model)
    change(model)

    assert tracked.of(model) == fingerprint(model) != before
    assert len(computed) == 2


def test_state_of_another_text_is_noticed(computed):
    model, tracked = warm_bilm(), Fingerprint()
    before = tracked.of(model)
    model.warm.set(model.warm.hidden + 1, model.warm.cell)

    assert tracked.of(model) != before


def test_what_did_not_change_is_not_read_again(computed):
    model, tracked = models.bilm(), Fingerprint()
    for _ in range(3):
        model(models.random_ids([3, 2]))
        assert tracked.of(model) == fingerprint(model)

    assert len(computed) == 1


def test_change_and_back_is_no_change(computed):
    model, tracked = models.bilm(), Fingerprint()
    before = tracked.of(model)
    state = copy.deepcopy(model.state_dict())
    loading(model)
    tracked.of(model)
    model.load_state_dict(state)

    assert tracked.of(model) == before


def test_two_models_in_turn(computed):
    one, other, tracked = models.bilm(), models.bilm(models.weights(seed=1)), Fingerprint()

    for _ in range(2):
        assert tracked.of(one) == fingerprint(one)
        assert tracked.of(other) == fingerprint(other)


def test_inference_mode():
    with torch.inference_mode():
        model = models.bilm()
        tracked = Fingerprint()
        assert tracked.of(model) == tracked.of(model) == fingerprint(models.bilm())


def test_words_count_where_a_bilm_knows_them_by_name():
    """The same tensors with other words beside them give other vectors of a text."""
    words = ["<S>", "</S>", "<UNK>", "a", "b", "c", "d", "e", "f"]
    model = models.bilm(models.weights(words=len(words)))
    swapped = [*words[:3], "b", "a", *words[5:]]

    assert len({fingerprint(model), fingerprint(model, words), fingerprint(model, swapped)}) == 3
    assert fingerprint(models.bilm(), words) == fingerprint(models.bilm())
