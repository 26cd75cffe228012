import pytest
import torch

from elmo_plugin.engine import backends
from tests.engine.backends.jobs import LOOSE, PARTS, TIGHT, as_job, random_jobs, reference, run
from tests.engine.tolerance import BACKEND, assert_close

LENGTHS = [9, 9, 4, 1]


def run_cpu(**others):
    return run(backends.get("cpu"), random_jobs(LENGTHS), LENGTHS, TIGHT, **others)


def assert_same(actual, expected, tolerance=0.0):
    assert list(actual) == list(expected)
    for what, value in expected.items():
        assert_close(actual[what], value, tolerance, what)


def test_forward_of_training_equals_inference():
    trained = run_cpu()
    for what, value in run_cpu(trained=()).items():
        assert_close(trained[what], value, BACKEND[torch.float64], what)


@pytest.mark.parametrize("trained", [(), PARTS], ids=["inference", "training"])
def test_fresh_memory_is_written_before_it_is_read(monkeypatch, trained):
    expected = run_cpu(trained=trained)

    def poisoned(allocate):
        return lambda *args, **kwargs: allocate(*args, **kwargs).fill_(float("nan"))

    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty))
    monkeypatch.setattr(torch, "empty_like", poisoned(torch.empty_like))
    monkeypatch.setattr(torch, "empty", poisoned(torch.empty))
    assert torch.zeros(1).new_empty(1).isnan()

    assert_same(run_cpu(trained=trained), expected)


def test_one_node_of_the_graph_holds_both_directions_and_all_steps():
    jobs = [
        as_job({part: job[part].clone().requires_grad_() for part in PARTS}, job["reverse"])
        for job in random_jobs(LENGTHS)
    ]
    forward, backward = backends.get("cpu").run(jobs, backends.base.Packing(LENGTHS, torch.device("cpu")), LOOSE)

    assert forward.outputs.grad_fn is backward.cell.grad_fn
    assert len(forward.outputs.grad_fn.next_functions) == 2 * len(PARTS)


@pytest.mark.parametrize("trained", [PARTS, ["inputs"], ["bias"]], ids=str)
def test_second_derivatives(trained):
    """Of a gradient penalty; every part has a share in it, and none is left out without a word."""
    gradients = []
    for name in ("cpu", "reference"):
        leaves = [
            {part: job[part].clone().requires_grad_(part in trained) for part in PARTS} for job in random_jobs([3, 1])
        ]
        packing = backends.base.Packing([3, 1], torch.device("cpu"))
        jobs = [as_job(leaf, reverse) for leaf, reverse in zip(leaves, (False, True))]
        results = backends.get(name).run(jobs, packing, TIGHT)
        wanted = [leaf[part] for leaf in leaves for part in trained]
        first = torch.autograd.grad(sum((r.outputs**2).sum() for r in results), wanted, create_graph=True)
        gradients.append(torch.autograd.grad(sum((value**2).sum() for value in first), wanted))

    for actual, expected in zip(*gradients):
        assert expected.abs().max() > 0
        assert_close(actual, expected, BACKEND[torch.float64])


def test_second_derivatives_where_nothing_ran():
    (job,) = random_jobs([], reverses=[False])
    leaf = {part: job[part].requires_grad_(part == "bias") for part in PARTS}
    packing = backends.base.Packing([], torch.device("cpu"))
    result = backends.get("cpu").run([as_job(leaf, False)], packing, LOOSE)[0]

    assert torch.autograd.grad(result.outputs.sum(), [leaf["bias"]], create_graph=True, allow_unused=True) == (None,)


def test_backward_inside_autocast_keeps_the_dtype():
    jobs = random_jobs(LENGTHS)
    expected = reference(jobs, LENGTHS, TIGHT, dtype=torch.float32)

    leaves = [{part: job[part].float().requires_grad_() for part in PARTS} for job in jobs]
    made = [as_job(leaf, job["reverse"]) for leaf, job in zip(leaves, jobs)]
    results = backends.get("cpu").run(made, backends.base.Packing(LENGTHS, torch.device("cpu")), TIGHT)
    values = [getattr(result, name) for result in results for name in ("outputs", "hidden", "cell")]
    generator = torch.Generator().manual_seed(1)
    arriving = [torch.randn(value.shape, generator=generator) for value in values]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.autograd.backward(values, arriving)

    for index, leaf in enumerate(leaves):
        for part in PARTS:
            assert_close(leaf[part].grad, expected[f"{index} gradient of {part}"], BACKEND[torch.float32], part)
