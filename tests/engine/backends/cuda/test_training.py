"""The hand-written backward pass on CPU tensors, against the reference's gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import Clips
from elmo_plugin.engine.backends.cuda.training import previous_places
from elmo_plugin.engine.packing import Packing
from tests.engine.backends.cuda.fakes import CpuLogic
from tests.engine.backends.cuda.memories import HALF
from tests.engine.backends.jobs import LOOSE, NONE, PARTS, TIGHT, as_job, random_jobs, reference, run
from tests.engine.tolerance import BACKEND, assert_close, error

LENGTHS = [[1], [7, 3, 1], [5, 5], [0, 4], [2, 0, 9, 0], [0], []]
CPU = torch.device("cpu")


def check(backend, jobs, lengths, clips, dtype=torch.float64, trained=PARTS):
    expected = reference(jobs, lengths, clips, trained=trained)
    actual = run(backend, jobs, lengths, clips, dtype=dtype, trained=trained)

    assert list(actual) == list(expected)
    for what, value in expected.items():
        assert actual[what].dtype == dtype
        assert_close(actual[what], value, BACKEND[dtype], what)


@pytest.mark.parametrize("clips", [LOOSE, TIGHT, NONE], ids=["loose", "tight", "none"])
@pytest.mark.parametrize("size", [(7, 4, 5), (5, None, 5)], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("dtype", BACKEND, ids=str)
def test_equals_the_reference(dtype, lengths, size, clips):
    check(CpuLogic(steps="torch"), random_jobs(lengths, *size), lengths, clips, dtype)


@settings(deadline=None, max_examples=25)
@given(
    lengths=st.lists(st.integers(0, 12), max_size=6),
    size=st.tuples(st.integers(1, 6), st.none() | st.integers(1, 5), st.integers(1, 6)),
    bounds=st.tuples(*[st.sampled_from([None, 0.05, 0.3, 3.0])] * 2),
    reverses=st.lists(st.booleans(), min_size=1, max_size=3),
    trained=st.sets(st.sampled_from(PARTS)),
    seed=st.integers(0, 1000),
)
def test_equals_the_reference_for_drawn_cases(lengths, size, bounds, reverses, trained, seed):
    jobs = random_jobs(lengths, *size, reverses=reverses, seed=seed)

    check(CpuLogic(steps="torch"), jobs, lengths, Clips(*bounds), trained=[part for part in PARTS if part in trained])


@pytest.mark.parametrize("steps,projection", [("triton", 4), ("triton", None), ("fused", 4)])
def test_interpreted_kernels_equal_the_reference(steps, projection):
    check(CpuLogic(steps=steps), random_jobs([2, 1], 7, projection), [2, 1], TIGHT, torch.float32)


@pytest.mark.parametrize("steps", ["torch", "triton"])
def test_a_bound_that_half_precision_rounds_down_still_passes_no_gradient(steps):
    bound = 0.1
    assert float(torch.tensor(bound).half()) < bound
    (job,) = random_jobs([2, 1], reverses=[False])
    job["projection"] *= 1000  # so that every output is clipped
    leaf = {part: job[part].half() for part in PARTS}
    leaf["inputs"].requires_grad_()
    (result,) = CpuLogic(steps=steps).run([as_job(leaf, False)], Packing([2, 1], CPU), Clips(None, bound))
    assert (result.outputs.abs() == torch.tensor(bound).half()).all()

    result.outputs.sum().backward()
    assert not leaf["inputs"].grad.any()


def test_cpu_backend_agrees():
    """Two backward passes that were written apart."""
    jobs = random_jobs([9, 4, 4])
    expected = run(backends.get("cpu"), jobs, [9, 4, 4], TIGHT)
    actual = run(CpuLogic(steps="torch"), jobs, [9, 4, 4], TIGHT)

    for what, value in expected.items():
        assert_close(actual[what], value, BACKEND[torch.float64], what)


@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_is_no_worse_than_the_reference_in_it(dtype):
    lengths = [12, 7, 1]
    jobs = random_jobs(lengths, 16, 8, 8)
    rounded = [{**job, **{part: job[part].to(dtype).double() for part in PARTS}} for job in jobs]
    exact = reference(rounded, lengths, LOOSE)
    plain = reference(jobs, lengths, LOOSE, dtype=dtype)
    actual = run(CpuLogic(steps="torch"), jobs, lengths, LOOSE, dtype=dtype)

    for what, value in exact.items():
        assert actual[what].dtype == dtype
        assert error(actual[what], value) <= 2 * error(plain[what], value) + 1e-3, what


def test_fresh_memory_is_written_before_it_is_read(monkeypatch):
    jobs = random_jobs([6, 3])
    expected = run(CpuLogic(steps="torch"), jobs, [6, 3], TIGHT)

    def poisoned(allocate):
        return lambda *args, **kwargs: allocate(*args, **kwargs).fill_(float("nan"))

    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty))
    monkeypatch.setattr(torch, "empty_like", poisoned(torch.empty_like))
    for what, value in run(CpuLogic(steps="torch"), jobs, [6, 3], TIGHT).items():
        assert_close(value, expected[what], 0.0, what)


def test_twice_through_one_graph():
    (job,) = random_jobs([4, 2], reverses=[True])
    leaf = {part: job[part].requires_grad_() for part in PARTS}
    result = CpuLogic(steps="torch").run([as_job(leaf, True)], Packing([4, 2], CPU), TIGHT)[0]
    gradients = [torch.autograd.grad(result.outputs.sum(), leaf["input"], retain_graph=True)[0] for _ in range(2)]

    assert torch.equal(*gradients)


def test_second_derivatives():
    gradients = []
    for backend in (CpuLogic(steps="torch"), backends.get("reference")):
        leaves = [{part: job[part].clone().requires_grad_() for part in PARTS} for job in random_jobs([3, 1])]
        jobs = [as_job(leaf, reverse) for leaf, reverse in zip(leaves, (False, True))]
        results = backend.run(jobs, Packing([3, 1], CPU), TIGHT)
        wanted = [leaf[part] for leaf in leaves for part in PARTS]
        first = torch.autograd.grad(sum((r.outputs**2).sum() for r in results), wanted, create_graph=True)
        gradients.append(torch.autograd.grad(sum((value**2).sum() for value in first), wanted))

    for actual, expected in zip(*gradients):
        assert expected.abs().max() > 0
        assert_close(actual, expected, BACKEND[torch.float64])


@pytest.mark.parametrize("inside", ["forward", "backward"])
def test_autocast_changes_nothing(inside):
    """The dtype is that of the weights, whichever the caller's autocast would take."""
    expected = reference(random_jobs([5, 2]), [5, 2], TIGHT, dtype=torch.float32)
    leaves = [{part: job[part].float().requires_grad_() for part in PARTS} for job in random_jobs([5, 2])]
    jobs = [as_job(leaf, reverse) for leaf, reverse in zip(leaves, (False, True))]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=inside == "forward"):
        results = CpuLogic(steps="torch").run(jobs, Packing([5, 2], CPU), TIGHT)
    values = [getattr(result, name) for result in results for name in ("outputs", "hidden", "cell")]
    generator = torch.Generator().manual_seed(1)
    arriving = [torch.randn(value.shape, generator=generator) for value in values]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=inside == "backward"):
        torch.autograd.backward(values, arriving)

    for index, leaf in enumerate(leaves):
        for part in PARTS:
            assert_close(leaf[part].grad, expected[f"{index} gradient of {part}"], BACKEND[torch.float32], part)


def test_previous_places():
    packing = Packing([3, 1, 2], CPU)  # tokens of three rows, of two, of one

    assert previous_places(packing, reverse=False).tolist() == [6, 7, 8, 0, 1, 3]
    assert previous_places(packing, reverse=True).tolist() == [3, 4, 8, 5, 7, 6]
    assert previous_places(Packing([], CPU), reverse=True).tolist() == []
