import pytest
import torch
from torch.nn import functional

from elmo_plugin.engine import softmax as softmax_module
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.softmax import LanguageModelSoftmax

N_WORDS, DIM, N_SAMPLES = 40, 6, 12


@pytest.fixture(params=[1, 2**23], ids=["many chunks", "one chunk"], autouse=True)
def chunk_bytes(request, monkeypatch):
    monkeypatch.setattr(softmax_module, "CHUNK_BYTES", request.param)


def make(n_tokens=150, seed=0):
    torch.manual_seed(seed)
    softmax = LanguageModelSoftmax(N_WORDS, DIM, N_SAMPLES).double()
    softmax.bias.data.normal_()
    hidden = torch.randn(n_tokens, DIM, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, N_WORDS, (n_tokens,))
    weights = torch.rand(n_tokens, dtype=torch.float64)
    return softmax, hidden, targets, weights


def gradients(total, softmax, hidden):
    return torch.autograd.grad(total, [hidden, softmax.weight, softmax.bias])


def naive_sampled(softmax, hidden, targets, negatives, n_draws):
    """Token by token, from the definition in TensorFlow's documentation of `sampled_softmax_loss`."""
    scores = hidden @ softmax.weight.t() + softmax.bias
    correction = softmax.sampler.log_expected_count(torch.arange(N_WORDS), n_draws, torch.float64)
    losses = []
    for row, target in zip(scores - correction, targets.tolist()):
        others = [word for word in negatives.tolist() if word != target]
        candidates = row[[target] + others]
        losses.append(candidates.logsumexp(0) - candidates[0])
    return torch.stack(losses)


@pytest.mark.parametrize("ignored", [0, 30])
def test_full_equals_torch(ignored):
    softmax, hidden, targets, weights = make()
    targets[:ignored] = -100
    expected = functional.cross_entropy(
        hidden @ softmax.weight.t() + softmax.bias, targets, reduction="none", ignore_index=-100
    )

    actual = softmax.full(hidden, targets, weights)

    torch.testing.assert_close(actual.per_token, expected.detach(), rtol=0, atol=1e-12)
    torch.testing.assert_close(actual.total, (expected * weights).sum(), rtol=0, atol=1e-11)
    for ours, theirs in zip(
        gradients(actual.total * 3, softmax, hidden), gradients((expected * weights).sum() * 3, softmax, hidden)
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)


@pytest.mark.parametrize("ignored", [0, 30])
def test_sampled_equals_naive(ignored):
    softmax, hidden, targets, weights = make()
    negatives, n_draws = softmax.sampler.sample(hidden.device)
    assert set(negatives.tolist()) & set(targets.tolist()), "no accidental hit to remove"
    expected = naive_sampled(softmax, hidden, targets, negatives, n_draws)
    expected = torch.where(torch.arange(len(targets)) < ignored, torch.zeros_like(expected), expected)
    targets[:ignored] = -1

    actual = softmax.sampled(hidden, targets, weights, sample=(negatives, n_draws))

    torch.testing.assert_close(actual.per_token, expected.detach(), rtol=0, atol=1e-12)
    torch.testing.assert_close(actual.total, (expected * weights).sum(), rtol=0, atol=1e-11)
    for ours, theirs in zip(
        gradients(actual.total * 3, softmax, hidden), gradients((expected * weights).sum() * 3, softmax, hidden)
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_gradcheck(kind):
    softmax, hidden, targets, weights = make(n_tokens=5)
    sample = softmax.sampler.sample(hidden.device)

    def total(hidden, weight, bias):
        softmax._parameters.update(weight=weight, bias=bias)
        extra = {"sample": sample} if kind == "sampled" else {}
        return getattr(softmax, kind)(hidden, targets, weights, **extra).total

    parameters = [parameter.detach().clone().requires_grad_() for parameter in softmax.parameters()]
    assert torch.autograd.gradcheck(total, (hidden, *parameters))


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_extreme_scores_stay_finite(kind):
    softmax, hidden, targets, _ = make()
    softmax = softmax.float()
    loss = getattr(softmax, kind)((hidden * 1e4).float().detach().requires_grad_(), targets)

    assert torch.isfinite(loss.total)
    loss.total.backward()
    assert torch.isfinite(softmax.weight.grad).all()


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_all_ignored_is_zero(kind):
    softmax, hidden, targets, _ = make(n_tokens=4)
    loss = getattr(softmax, kind)(hidden, torch.full_like(targets, -1))
    loss.total.backward()

    assert float(loss.total.detach()) == 0.0
    assert not softmax.weight.grad.any() and not hidden.grad.any()


@pytest.mark.parametrize("gradients_too", [False, True])
@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_autocast_changes_nothing(kind, gradients_too):
    """Losses of a precision with three digits would be no losses, nor would perplexities."""
    softmax, hidden, targets, _ = make(n_tokens=5)
    softmax, hidden = softmax.float(), hidden.detach().bfloat16().requires_grad_(gradients_too)
    results = []
    for enabled in (False, True):
        torch.manual_seed(1)
        with torch.set_grad_enabled(gradients_too), torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            loss = getattr(softmax, kind)(hidden, targets)
        results.append([loss.total, loss.per_token])
        results[-1] += gradients(loss.total, softmax, hidden) if gradients_too else ()

    assert results[0][1].dtype == torch.float32
    for one, other in zip(*results):
        assert one.dtype == other.dtype and torch.equal(one, other)


def test_no_gradients_under_no_grad():
    softmax, hidden, targets, _ = make()
    with torch.no_grad():
        assert not softmax.full(hidden, targets).total.requires_grad


def test_sampled_loss_approaches_full_loss():
    """With nearly all words as negatives the correction vanishes for frequent words; the mean over samples is close."""
    torch.manual_seed(0)
    softmax = LanguageModelSoftmax(N_WORDS, DIM, N_WORDS - 1).double()
    hidden = torch.randn(2000, DIM, dtype=torch.float64)
    targets = torch.randint(0, N_WORDS, (2000,))
    full = softmax.full(hidden, targets).per_token.mean()
    sampled = torch.stack([softmax.sampled(hidden, targets).per_token.mean() for _ in range(20)]).mean()

    assert float(sampled) == pytest.approx(float(full), abs=0.1)


def test_initialisation_is_bilm_tfs():
    torch.manual_seed(0)
    softmax = LanguageModelSoftmax(5000, 64)

    assert float(softmax.weight.std()) == pytest.approx(64**-0.5, rel=0.02)
    assert not softmax.bias.any()


def test_errors_name_shapes_and_words():
    softmax, hidden, targets, _ = make(n_tokens=4)
    with pytest.raises(ShapeError, match=r"hidden \(4, 6\) and targets \(3,\), expected \(tokens, 6\)"):
        softmax.full(hidden, targets[:3])
    targets[2] = N_WORDS
    with pytest.raises(ShapeError, match="target 40 in a vocabulary of 40 words"):
        softmax.full(hidden, targets)
    with pytest.raises(ValueError, match="n_samples=None"):
        LanguageModelSoftmax(5, 3).sampled(torch.zeros(1, 3), torch.tensor([1]))
