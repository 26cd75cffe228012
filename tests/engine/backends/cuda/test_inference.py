"""Everything of a call without gradients but the launches: blocks, pieces, graphs, states, on CPU tensors."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.backends.base import Clips
from elmo_plugin.engine.packing import Packing
from tests.engine.backends.cuda.fakes import CpuLogic
from tests.engine.backends.cuda.memories import HALF
from tests.engine.backends.jobs import LOOSE, NONE, PARTS, TIGHT, as_job, random_jobs, reference, run
from tests.engine.tolerance import BACKEND, assert_close, error

LENGTHS = [[1], [7, 3, 1], [5, 5], [37, 2], [2, 0, 9, 0], [0], []]
#: cells, projection, inputs
SIZES = [(7, 4, 5), (4, None, 9)]

CPU = torch.device("cpu")


def made(jobs, dtype=torch.float64):
    """Jobs whose weights stay where they are, as those of a model do."""
    leaves = [{part: None if job[part] is None else job[part].to(dtype) for part in PARTS} for job in jobs]
    return [as_job(leaf, job["reverse"]) for leaf, job in zip(leaves, jobs)]


def named(results):
    return {
        f"{index} {name}": getattr(r, name) for index, r in enumerate(results) for name in ("outputs", "hidden", "cell")
    }


def assert_same(actual, expected, tolerance=BACKEND[torch.float64]):
    assert list(actual) == list(expected)
    for what, value in expected.items():
        assert_close(actual[what], value, tolerance, what)


@pytest.mark.parametrize("clips", [TIGHT, NONE], ids=["tight", "none"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_equals_the_reference_plain_and_captured(lengths, size, clips):
    backend = CpuLogic(steps="torch", block_tokens=40)
    jobs = random_jobs(lengths, *size)
    expected = reference(jobs, lengths, clips, trained=())
    ready = made(jobs)
    for _ in range(3):  # plain, captured, run again
        assert_same(named(backend.run(ready, Packing(lengths, CPU), clips)), expected)


@settings(deadline=None, max_examples=15)
@given(
    lengths=st.lists(st.integers(0, 12), max_size=6),
    size=st.tuples(st.integers(1, 6), st.none() | st.integers(1, 5), st.integers(1, 6)),
    bounds=st.tuples(*[st.sampled_from([None, 0.05, 0.3, 3.0])] * 2),
    reverses=st.lists(st.booleans(), min_size=1, max_size=3),
    tokens=st.integers(1, 30),
    graphs=st.sampled_from([0, 1, 64]),
    seed=st.integers(0, 1000),
)
def test_equals_the_reference_for_drawn_cases(lengths, size, bounds, reverses, tokens, graphs, seed):
    backend = CpuLogic(steps="torch", block_tokens=tokens, max_graphs=graphs)
    jobs, clips = random_jobs(lengths, *size, reverses=reverses, seed=seed), Clips(*bounds)
    expected = reference(jobs, lengths, clips, trained=())
    ready = made(jobs)
    for _ in range(3):
        assert_same(named(backend.run(ready, Packing(lengths, CPU), clips)), expected)


def test_one_graph_serves_other_lengths_inputs_states_and_weights():
    """A graph knows addresses alone: of the workspace, and of weights that an optimizer changes where they are."""
    backend = CpuLogic(steps="torch")
    weights = made(random_jobs([8, 3, 2]))
    for seed, lengths in enumerate([[8, 3, 2], [8, 8, 8], [8, 1, 1, 1], [8, 5, 4, 4]]):
        jobs = random_jobs(lengths, seed=seed)
        for job, kept in zip(jobs, weights):
            kept.weights.recurrent.add_(0.01)
            kept.weights.projection.mul_(1.01)
            kept.weights.bias.add_(0.01)
            job.update(vars(kept.weights))
        expected = reference(jobs, lengths, TIGHT, trained=())
        assert_same(named(backend.run(made(jobs), Packing(lengths, CPU), TIGHT)), expected)
        # the bucket of three rows is that of four
        assert len(backend.recorder.captured) == (0 if seed == 0 else 1)
    assert backend.recorder.captured[0].replays == 3


def test_weights_at_other_addresses_are_never_taken_for_those_of_a_graph():
    backend = CpuLogic(steps="torch")
    alive = []
    for seed in range(4):
        jobs = random_jobs([4, 2], seed=seed)
        alive.append(made(jobs))
        assert_same(
            named(backend.run(alive[-1], Packing([4, 2], CPU), LOOSE)), reference(jobs, [4, 2], LOOSE, trained=())
        )

    assert not backend.recorder.captured


def test_clips_are_part_of_a_graph():
    backend = CpuLogic(steps="torch")
    jobs = random_jobs([4, 2])
    ready = made(jobs)
    for clips in [TIGHT, TIGHT, LOOSE, NONE, TIGHT, LOOSE, NONE]:
        assert_same(named(backend.run(ready, Packing([4, 2], CPU), clips)), reference(jobs, [4, 2], clips, trained=()))


def test_many_rows_run_without_graphs():
    """Products over rows that do not run cost time there."""
    backend = CpuLogic(steps="torch")
    lengths = [2] * 30 + [1] * 40
    jobs = random_jobs(lengths)
    ready = made(jobs)
    for _ in range(3):
        assert_same(
            named(backend.run(ready, Packing(lengths, CPU), LOOSE)), reference(jobs, lengths, LOOSE, trained=())
        )

    assert not backend.recorder.captured


@pytest.mark.parametrize("graphs", [0, 64])
def test_memory_is_written_before_it_is_read(graphs):
    """Whatever earlier calls left behind, in the workspace and beside it, changes nothing."""
    backend = CpuLogic(steps="torch", max_graphs=graphs)
    lengths = [6, 6, 2]
    ready = made(random_jobs(lengths))
    expected = named(backend.run(ready, Packing(lengths, CPU), TIGHT))
    (workspace,) = backend.runtime.on(CPU)._workspaces.values()
    for _ in range(3):
        for memory in workspace.memories:
            for tensor in (memory.inputs, memory.hidden, memory.cell, memory.outputs):
                tensor.fill_(float("nan"))
        assert_same(named(backend.run(ready, Packing(lengths, CPU), TIGHT)), expected, 0.0)


def test_results_are_not_part_of_the_workspace():
    backend = CpuLogic(steps="torch")
    first = named(backend.run(made(random_jobs([5, 2])), Packing([5, 2], CPU), LOOSE))
    before = {what: value.clone() for what, value in first.items()}
    backend.run(made(random_jobs([5, 2], seed=1)), Packing([5, 2], CPU), LOOSE)

    assert_same(first, before, 0.0)


def test_inputs_weights_and_states_of_any_strides():
    jobs = random_jobs([5, 2])
    ready = made(jobs)
    for job in ready:
        for owner, name in [(job, "inputs"), (job, "hidden"), (job, "cell")] + [
            (job.weights, part) for part in ("input", "recurrent", "projection")
        ]:
            value = getattr(owner, name)
            object.__setattr__(owner, name, torch.stack([value, value], dim=-1)[..., 0].t().contiguous().t())
            assert not getattr(owner, name).is_contiguous()

    actual = named(CpuLogic(steps="torch").run(ready, Packing([5, 2], CPU), LOOSE))
    assert_same(actual, reference(jobs, [5, 2], LOOSE, trained=()))


def test_inference_mode_before_and_after():
    backend = CpuLogic(steps="torch")
    jobs = random_jobs([5, 2])
    ready = made(jobs)
    expected = reference(jobs, [5, 2], LOOSE, trained=())
    with torch.inference_mode():
        assert_same(named(backend.run(ready, Packing([5, 2], CPU), LOOSE)), expected)
    for _ in range(2):
        assert_same(named(backend.run(ready, Packing([5, 2], CPU), LOOSE)), expected)


@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_is_no_worse_than_the_reference_in_it(dtype):
    lengths = [30, 12, 1]
    jobs = random_jobs(lengths, 16, 8, 8)
    rounded = [{**job, **{part: job[part].to(dtype).double() for part in PARTS}} for job in jobs]
    exact = reference(rounded, lengths, LOOSE, trained=())
    plain = reference(jobs, lengths, LOOSE, dtype=dtype, trained=())
    actual = run(CpuLogic(steps="torch"), jobs, lengths, LOOSE, dtype=dtype, trained=())

    for what, value in exact.items():
        assert actual[what].dtype == dtype
        assert error(actual[what], value) <= 2 * error(plain[what], value) + 1e-3, what


@pytest.mark.parametrize("steps,dtype", [("fused", torch.float32), ("triton", torch.float32)])
def test_interpreted_kernels_equal_the_reference_plain_and_captured(steps, dtype):
    backend = CpuLogic(steps=steps)
    lengths = [3, 1]
    jobs = random_jobs(lengths)
    ready = made(jobs, dtype)
    expected = reference(jobs, lengths, TIGHT, trained=())
    for _ in range(2):
        assert_same(named(backend.run(ready, Packing(lengths, CPU), TIGHT)), expected, BACKEND[dtype])
    assert sum(tape.replays for tape in backend.recorder.captured) == 2  # of two steps and of one
