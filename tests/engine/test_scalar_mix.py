import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.errors import OptionsError, ShapeError
from elmo_plugin.engine.scalar_mix import LAYER_NORMS, ScalarMix
from tests.engine.tolerance import LAYERS, assert_close

TOLERANCE = LAYERS[torch.float64]


def random_layers(tokens=5, dim=4, number=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [3 * torch.randn(tokens, dim, generator=generator).double() + index for index in range(number)]


def mix(number=3, **others):
    return ScalarMix(number, **others).double()


def test_equation_1():
    layers = random_layers()
    module = mix(initial_weights=[0.5, -1.0, 2.0])
    module.gamma.data.fill_(0.7)
    shares = torch.tensor([0.5, -1.0, 2.0]).double().exp()
    shares /= shares.sum()

    assert_close(module.normalised_weights(), shares, TOLERANCE)
    assert_close(module(layers), 0.7 * sum(share * layer for share, layer in zip(shares, layers)), TOLERANCE)


def test_starts_as_the_average():
    layers = random_layers()
    module = mix()

    assert module.weights.tolist() == [0.0, 0.0, 0.0] and module.gamma.tolist() == [1.0]
    assert_close(module(layers), sum(layers) / 3, TOLERANCE)


def test_one_layer():
    (layer,) = random_layers(number=1)

    assert_close(mix(1, initial_weights=[5.0])([layer]), layer, TOLERANCE)


def test_weights_far_apart_choose_a_layer():
    """The way of old configs to name one layer."""
    layers = random_layers()

    assert_close(mix(initial_weights=[-9e10, 1.0, -9e10])(layers), layers[1], TOLERANCE)


@settings(deadline=None, max_examples=30)
@given(
    norm=st.booleans(),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    weights=st.lists(st.floats(-3, 3), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_equals_allennlp(norm, lengths, weights, seed):
    """Our packed tokens are its tokens under the mask; the padding must have no share in the statistics."""
    scalar_mix = pytest.importorskip("allennlp.modules.scalar_mix")
    theirs = scalar_mix.ScalarMix(len(weights), norm, initial_scalar_parameters=weights).double()
    ours = mix(len(weights), layer_norm="batch" if norm else "none", initial_weights=weights)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    layers = [
        layer.view(*mask.shape, 4).requires_grad_() for layer in random_layers(mask.numel(), 4, len(weights), seed)
    ]
    padded = theirs(layers, mask)[mask]
    packed = ours([layer[mask] for layer in layers])

    assert_close(packed, padded, TOLERANCE)
    arriving = torch.randn_like(packed)
    ours_to = [ours.weights, ours.gamma, *layers]
    expected = torch.autograd.grad(padded, [*theirs.scalar_parameters, theirs.gamma, *layers], arriving)
    actual = torch.autograd.grad(packed, ours_to, arriving)
    assert_close(actual[0], torch.cat(expected[: len(weights)]), TOLERANCE)
    for one, other in zip(actual[1:], expected[len(weights) :]):
        assert_close(one, other, TOLERANCE)


def test_norm_per_token_does_not_depend_on_other_tokens():
    """With the paper's form it does."""
    layers = random_layers(6)
    for norm, depends in (("token", False), ("none", False), ("batch", True)):
        module = mix(layer_norm=norm)
        alone = module([layer[:2] for layer in layers])
        assert bool((alone - module(layers)[:2]).abs().max() > 1e-3) == depends, norm


def test_norm_per_token():
    (layer,) = random_layers(number=1)
    output = mix(1, layer_norm="token")([layer])

    assert_close(output.mean(dim=1), torch.zeros(5), 1e-9)
    assert_close(output.var(dim=1, unbiased=False), torch.ones(5), 1e-9)


@pytest.mark.parametrize("norm", LAYER_NORMS)
def test_gradients(norm):
    module = mix(layer_norm=norm, initial_weights=[0.3, 0.1, -0.2])
    layers = [layer.requires_grad_() for layer in random_layers(3, 4)]

    start = [module.weights.detach().requires_grad_(), module.gamma.detach().requires_grad_()]
    del module.weights, module.gamma  # so that plain tensors can stand in their places

    def function(weights, gamma, *given_layers):
        module.weights, module.gamma = weights, gamma
        return module(given_layers)

    assert torch.autograd.gradcheck(function, [*start, *layers])


@pytest.mark.parametrize("norm", LAYER_NORMS)
def test_no_tokens(norm):
    module = mix(layer_norm=norm)
    output = module(random_layers(0))
    output.sum().backward()

    assert output.shape == (0, 4)
    assert module.gamma.grad.item() == 0.0
    assert not module.weights.grad.isnan().any()


@pytest.mark.parametrize("norm", ["batch", "token"])
def test_a_constant_layer_is_normalised_to_zero(norm):
    assert not mix(1, layer_norm=norm)([torch.full((3, 4), 7.0).double()]).any()


@pytest.mark.parametrize("train_weights", [False, True])
@pytest.mark.parametrize("train_gamma", [False, True])
def test_what_trains(train_weights, train_gamma):
    """Gamma and the weights of the layers are chosen apart."""
    module = mix(train_weights=train_weights, train_gamma=train_gamma)

    assert module.weights.requires_grad == train_weights
    assert module.gamma.requires_grad == train_gamma


def test_parameters_are_two_tensors():
    """Lists of parameters are empty on replicas."""
    assert {name: tuple(value.shape) for name, value in mix().named_parameters()} == {"weights": (3,), "gamma": (1,)}


def test_follows_the_default_dtype():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert ScalarMix(2).weights.dtype == ScalarMix(2, initial_weights=[1, 2]).weights.dtype == torch.float64
    finally:
        torch.set_default_dtype(before)


def test_unknown_norm():
    with pytest.raises(OptionsError, match=r"unknown layer_norm 'layer'; choose one of \['none', 'batch', 'token'\]"):
        mix(layer_norm="layer")


@pytest.mark.parametrize("weights", [[], [1.0], [1.0, 2.0, 3.0, 4.0]])
def test_number_of_initial_weights(weights):
    with pytest.raises(
        OptionsError, match="initial weights of the mix are .*, expected 3 numbers, one for each mixed layer"
    ):
        mix(initial_weights=weights)


def test_number_of_layers():
    with pytest.raises(ShapeError, match="2 layers were given to a mix of 3"):
        mix()(random_layers(number=2))
