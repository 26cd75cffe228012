import pytest
import torch

from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.elmo import Elmo, resolve_layers
from elmo_plugin.engine.errors import OptionsError, ShapeError
from tests.engine import models
from tests.engine.tolerance import LAYERS, assert_close

TOLERANCE = LAYERS[torch.float64]
LENGTHS = [4, 1, 0, 3]


def elmo(source=None, bilm=None, **others):
    return Elmo(models.bilm(source, **(bilm or {})), **others).double()


def test_shapes():
    module = elmo(num_mixes=2)
    output = module(models.random_ids(LENGTHS))

    assert module.output_dim == 12
    assert [value.shape for value in output.representations] == [(4, 4, 12)] * 2
    assert output.mask.tolist() == [[step < length for step in range(4)] for length in LENGTHS]
    assert output.mask.dtype == torch.bool
    for value in output.representations:
        assert not value[~output.mask].any()


@pytest.mark.parametrize("keep", [False, True])
def test_mixes_the_layers(keep):
    module = elmo(keep_boundaries=keep, initial_weights=[0.5, -1.0, 2.0])
    ids = models.random_ids(LENGTHS)
    raw = module.raw_layers(ids)
    (mixed,) = module(ids).representations

    shares = torch.softmax(torch.tensor([0.5, -1.0, 2.0]).double(), 0)
    assert_close(mixed, torch.einsum("l,lbsd->bsd", shares, raw.layers), TOLERANCE)


def test_boundaries_are_kept_or_cut():
    source = models.weights()
    ids = models.random_ids(LENGTHS)
    with_boundaries = elmo(source, keep_boundaries=True, bilm={"state": "carried"})(ids)
    without = elmo(source, bilm={"state": "carried"})(ids)

    assert with_boundaries.representations[0].shape == (4, 6, 12)
    assert with_boundaries.mask.sum(dim=1).tolist() == [length + 2 for length in LENGTHS]
    for row, length in enumerate(LENGTHS):
        kept, cut = with_boundaries.representations[0][row], without.representations[0][row]
        assert torch.equal(kept[1 : length + 1], cut[:length])
        assert not kept[length + 2 :].any() and not cut[length:].any()


def test_raw_layers_are_those_of_the_bilm():
    """The layers themselves, not `num_mixes` equal averages."""
    module = elmo(num_mixes=2)
    ids = models.random_ids(LENGTHS)
    raw = module.raw_layers(ids)
    expected = models.expected(models.weights(), ids)

    assert raw.layers.shape == (3, 4, 4, 12)
    assert raw.mask.sum(dim=1).tolist() == LENGTHS
    for row, layers in expected.items():
        assert_close(raw.layers[:, row, : LENGTHS[row]], layers[:, 1:-1], TOLERANCE)


@pytest.mark.parametrize(
    "layers,numbers",
    [
        ("all", [0, 1, 2]),
        ("last", [2]),
        (0, [0]),
        (2, [2]),
        (-1, [2]),
        (-3, [0]),
        ([2, 0], [2, 0]),
        ((1,), [1]),
        ([-1, 0], [2, 0]),
    ],
    ids=str,
)
def test_choice_of_layers(layers, numbers):
    assert resolve_layers(layers, 3) == numbers
    module = elmo(layers=layers)
    ids = models.random_ids(LENGTHS)

    assert_close(module(ids).representations[0], module.raw_layers(ids).layers[numbers].mean(dim=0), TOLERANCE)


@pytest.mark.parametrize(
    "layers",
    ["first", "", 3, -4, [], [0, 0], [0, -3], [0, 3], ["last"], [True], True, None, 1.0, [1.0], {0: 1}, {0}],
    ids=str,
)
def test_a_choice_that_names_no_layers_is_refused(layers):
    with pytest.raises(
        OptionsError, match='layers is .*, expected "all", "last", a number or a list .* 0 to 2, because'
    ):
        elmo(layers=layers)


@pytest.mark.parametrize("number", [0, -1])
def test_number_of_mixes(number):
    with pytest.raises(OptionsError, match=f"number of mixes is {number}, expected at least 1: .*raw_layers"):
        elmo(num_mixes=number)


def test_mixes_are_independent():
    module = elmo(num_mixes=2)
    module.mixes[1].weights.data.copy_(torch.tensor([5.0, 0.0, 0.0]))
    module.mixes[1].gamma.data.fill_(2.0)
    first, second = module(models.random_ids(LENGTHS)).representations
    assert not torch.equal(first, second)

    first.sum().backward()
    assert module.mixes[0].gamma.grad is not None and module.mixes[1].gamma.grad is None


def test_the_bilm_runs_once_for_all_mixes():
    """Else the carried state would move twice."""
    ids = models.random_ids([3])
    one, two = (elmo(num_mixes=number, bilm={"state": "carried"}) for number in (1, 2))
    for _ in range(2):
        results = [module(ids).representations[0] for module in (one, two)]

    assert torch.equal(*results)


@pytest.mark.parametrize("leading", [(2, 2), (1, 2, 2), (4, 1)])
def test_further_dimensions_come_back(leading):
    module = elmo()
    ids = models.random_ids(LENGTHS)
    flat = module(ids)
    output = module(ids.view(*leading, 4, 50))
    raw = module.raw_layers(ids.view(*leading, 4, 50))

    assert output.representations[0].shape == (*leading, 4, 12)
    assert raw.layers.shape == (3, *leading, 4, 12)
    assert torch.equal(output.representations[0].view(4, 4, 12), flat.representations[0])
    assert torch.equal(output.mask.view(4, 4), flat.mask)
    assert torch.equal(raw.mask, output.mask)


@pytest.mark.parametrize("shape", [(2, 3, 0), (2, 0, 4), (0, 3, 4), (0, 4), (3, 0), (0, 0)])
def test_shapes_without_words(shape):
    for keep, steps in ((False, shape[-1]), (True, shape[-1] + 2)):
        module = elmo(keep_boundaries=keep)
        output = module(torch.zeros(*shape, 50, dtype=torch.int64))
        expected = (*shape[:-1], steps)

        assert output.representations[0].shape == (*expected, 12)
        assert output.mask.shape == expected
        assert module.raw_layers(torch.zeros(*shape, 50, dtype=torch.int64)).layers.shape == (3, *expected, 12)


@pytest.mark.parametrize("norm", ["none", "batch", "token"])
@pytest.mark.parametrize("sentences", [[[]], [[], []], [["a"], []], []], ids=str)
def test_empty_sentences_with_every_norm(sentences, norm):
    module = elmo(layer_norm=norm)
    (vectors,) = module(batch_to_ids(sentences)).representations
    vectors.sum().backward()

    assert not vectors.isnan().any()
    assert not module.mixes[0].gamma.grad.isnan().any()


def test_word_level():
    source = models.weights(words=9)
    ids = models.random_word_ids(LENGTHS, 9)
    module = elmo(source)

    assert module(ids).representations[0].shape == (4, 4, 12)
    assert module(ids.view(2, 2, 4)).representations[0].shape == (2, 2, 4, 12)


@pytest.mark.parametrize("shape", [(), (3,), (3, 4)])
def test_too_few_dimensions(shape):
    with pytest.raises(ShapeError, match='^ids have shape .*not "single_id"'):
        elmo()(torch.ones(shape, dtype=torch.int64))


def test_both_devices_are_named_where_they_differ():
    with pytest.raises(ShapeError, match="ids are on meta, but the biLM is on cpu"):
        elmo()(models.random_ids([2]).to("meta"))


def test_norm_of_the_batch_counts_tokens_and_boundaries_but_no_padding():
    """As in the paper's code; the same rows with more padding give the same vectors."""
    module = elmo(layer_norm="batch")
    ids = models.random_ids(LENGTHS)
    padded = torch.cat([ids, torch.zeros(4, 3, 50, dtype=torch.int64)], dim=1)

    assert_close(module(padded).representations[0][:, :4], module(ids).representations[0], TOLERANCE)


@pytest.mark.parametrize("norm,depends", [("none", False), ("token", False), ("batch", True)])
def test_batch_mates(norm, depends):
    """The paper's norm makes a sentence depend on the rest of its batch, ours does not."""
    module = elmo(layer_norm=norm)
    ids = models.random_ids([3, 9, 9])
    alone = module(ids[:1, :3]).representations[0][0]
    together = module(ids).representations[0][0, :3]

    assert bool((alone - together).abs().max() > 1e-4) == depends


def test_dropout_is_for_training_only():
    module = elmo(num_mixes=2, dropout=0.5)
    ids = models.random_ids([50])
    torch.manual_seed(0)
    first, second = module(ids).representations
    assert float((first == 0).double().mean()) == pytest.approx(0.5, abs=0.1)
    assert not torch.equal(first, second), "each mix has its own dropout"

    module.eval()
    assert torch.equal(*module(ids).representations)
    assert torch.equal(module(ids).representations[0], module(ids).representations[0])


def test_frozen_bilm_trains_the_mix_alone():
    """A graph through the mix, none through the biLM."""
    module = elmo(num_mixes=2)
    output = module(models.random_ids(LENGTHS))
    leaves = set()
    pending = [value.grad_fn for value in output.representations]
    while pending:
        node = pending.pop()
        if hasattr(node, "variable"):
            leaves.add(id(node.variable))
        pending.extend(following for following, _ in node.next_functions if following is not None)
    assert leaves == {id(parameter) for parameter in module.mixes.parameters()}

    sum(value.sum() for value in output.representations).backward()
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in module.bilm.parameters())
    assert all(parameter.grad.abs().sum() > 0 for parameter in module.mixes.parameters())


def test_fine_tuning_trains_everything():
    module = elmo(bilm={"fine_tune": True})
    module(models.random_ids(LENGTHS)).representations[0].sum().backward()

    for name, parameter in module.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_raw_layers_of_a_frozen_bilm_have_no_graph():
    assert elmo().raw_layers(models.random_ids([2])).layers.grad_fn is None


def test_weights_and_gamma_train_apart():
    module = elmo(layers="last", train_weights=False)
    module(models.random_ids([3])).representations[0].sum().backward()

    assert module.mixes[0].weights.grad is None
    assert module.mixes[0].gamma.grad.abs() > 0


def test_reset_states():
    module = elmo(bilm={"state": "carried"})
    ids = models.random_ids([3])
    first = module(ids).representations[0]
    assert not torch.equal(module(ids).representations[0], first)
    module.reset_states()

    assert torch.equal(module(ids).representations[0], first)
