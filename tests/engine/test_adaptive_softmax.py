import pytest
import torch
from torch.nn import functional

from elmo_plugin.engine.adaptive_softmax import AdaptiveSoftmax
from elmo_plugin.engine.errors import OptionsError, ShapeError


def test_cross_entropy_of_all_words():
    """The same as torch's cross-entropy over the log-probabilities, ignored tokens left out."""
    torch.manual_seed(0)
    softmax = AdaptiveSoftmax(30, 8, [5, 12])
    hidden = torch.randn(7, 8, requires_grad=True)
    targets = torch.tensor([0, 4, 5, 11, 12, 29, -100])
    weights = torch.tensor([1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 9.0])
    found = softmax.full(hidden, targets, weights)
    log_probabilities = softmax.model.log_prob(hidden)
    expected = functional.cross_entropy(log_probabilities[:6], targets[:6], reduction="none")

    torch.testing.assert_close(log_probabilities.exp().sum(1), torch.ones(7))
    torch.testing.assert_close(found.per_token, torch.cat([expected, torch.zeros(1)]))
    torch.testing.assert_close(found.total, (expected * weights[:6]).sum())
    found.total.backward()
    assert hidden.grad[:6].any(1).all() and not hidden.grad[6].any()
    assert not found.per_token.requires_grad


def test_autocast_changes_nothing():
    torch.manual_seed(0)
    softmax, hidden, targets = AdaptiveSoftmax(30, 8, [5]), torch.randn(3, 8).bfloat16(), torch.tensor([0, 29, 7])
    expected = softmax.full(hidden, targets)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = softmax.full(hidden, targets)
    assert torch.equal(found.per_token, expected.per_token) and found.per_token.dtype == torch.float32
    found.total.backward()


def test_no_token_at_all():
    softmax = AdaptiveSoftmax(30, 8, [5])
    hidden = torch.randn(2, 8, requires_grad=True)
    found = softmax.full(hidden, torch.tensor([-1, -1]))

    assert float(found.total.detach()) == 0 and found.per_token.tolist() == [0, 0]
    found.total.backward()


@pytest.mark.parametrize("targets", [[0, 1, -100], [29, 29, 29], [-1, -1, -1]])
def test_every_parameter_has_a_gradient_in_every_batch(targets):
    """Of zeros where no target is in its cluster: the processes of a distributed training wait for each other's."""
    softmax = AdaptiveSoftmax(30, 8, [5, 12])
    softmax.full(torch.randn(3, 8, requires_grad=True), torch.tensor(targets)).total.backward()

    assert all(parameter.grad is not None for parameter in softmax.parameters())
    assert not softmax.model.tail[0][0].weight.grad.any()


@pytest.mark.parametrize("dim,cutoffs", [(2, [1, 2, 3, 4]), (8, [5, 12]), (128, [10, 20]), (1, [3])])
def test_the_last_cluster_keeps_a_dimension(dim, cutoffs):
    softmax = AdaptiveSoftmax(30, dim, cutoffs)

    assert all(cluster[0].out_features >= 1 for cluster in softmax.model.tail)


@pytest.mark.parametrize("cutoffs", [[], [0], [5, 5], [8, 5], [30]])
def test_cutoffs_that_are_none_are_refused(cutoffs):
    with pytest.raises(OptionsError, match=r"the cutoffs are \[.*ascending numbers from 1 to 29"):
        AdaptiveSoftmax(30, 8, cutoffs)


def test_shapes_are_checked():
    with pytest.raises(ShapeError, match=r"hidden \(2, 7\).*expected \(tokens, 8\)"):
        AdaptiveSoftmax(30, 8, [5]).full(torch.zeros(2, 7), torch.zeros(2, dtype=torch.long))
