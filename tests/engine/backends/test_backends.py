import logging

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import Clips, Convolution
from elmo_plugin.engine.errors import BackendUnavailableError
from elmo_plugin.engine.evidence import Derived
from tests.engine.backends.jobs import (
    LOOSE,
    NONE,
    PARTS,
    TIGHT,
    as_job,
    can_run,
    device_for,
    random_jobs,
    reference,
    run,
)
from tests.engine.tolerance import BACKEND, assert_close

OTHERS = [name for name in backends.names() if name != "reference"]
LENGTHS = [[1], [7, 3, 1], [5, 5], [63, 2], [0, 4], [2, 0, 9, 0], [0], []]
#: cells, projection, inputs
SIZES = [(7, 4, 5), (5, None, 5), (4, None, 9)]

lengths_of_a_batch = st.lists(st.integers(0, 12), max_size=6)
bounds = st.sampled_from([None, 0.05, 0.3, 3.0])
sizes = st.tuples(st.integers(1, 9), st.none() | st.integers(1, 7), st.integers(1, 9))


def check(name, jobs, lengths, clips, dtype, trained=PARTS):
    expected = reference(jobs, lengths, clips, dtype=dtype, trained=trained)
    actual = run(backends.get(name), jobs, lengths, clips, dtype=dtype, trained=trained)

    assert list(actual) == list(expected)
    for what, value in expected.items():
        assert actual[what].dtype == dtype
        assert_close(actual[what].cpu(), value, BACKEND[dtype], what)


@pytest.mark.parametrize("clips", [LOOSE, TIGHT, NONE], ids=["loose", "tight", "none"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("dtype", BACKEND, ids=str)
@pytest.mark.parametrize("name", OTHERS)
def test_equals_the_reference(name, dtype, lengths, size, clips, require_backend):
    require_backend(name)
    cells, projection, inputs = size

    check(name, random_jobs(lengths, cells, projection, inputs), lengths, clips, dtype)


@pytest.mark.parametrize("name", [name for name in OTHERS if can_run(name)])
@settings(deadline=None, max_examples=40)
@given(
    lengths=lengths_of_a_batch,
    size=sizes,
    cell_clip=bounds,
    projection_clip=bounds,
    reverses=st.lists(st.booleans(), min_size=1, max_size=3),
    trained=st.sets(st.sampled_from(PARTS)),
    dtype=st.sampled_from(list(BACKEND)),
    seed=st.integers(0, 1000),
)
def test_equals_the_reference_for_drawn_cases(
    name, lengths, size, cell_clip, projection_clip, reverses, trained, dtype, seed
):
    jobs = random_jobs(lengths, *size, reverses=reverses, seed=seed)

    check(name, jobs, lengths, Clips(cell_clip, projection_clip), dtype, [part for part in PARTS if part in trained])


def test_the_tight_clips_fire():
    """Else the cases above would show nothing about clipping."""
    results = reference(random_jobs([7, 3, 1]), [7, 3, 1], TIGHT, trained=())

    assert (results["0 cell"].abs() == TIGHT.cell).double().mean() > 0.2
    assert (results["0 outputs"].abs() == TIGHT.projection).double().mean() > 0.5


@pytest.mark.parametrize("trained", PARTS)
@pytest.mark.parametrize("name", OTHERS)
def test_one_trained_tensor_gets_its_gradient(name, trained, require_backend):
    require_backend(name)

    check(name, random_jobs([4, 2]), [4, 2], LOOSE, torch.float64, [trained])


@pytest.mark.parametrize("name", OTHERS)
def test_a_gradient_that_comes_from_one_result_alone(name, require_backend):
    """The other results' gradients are then missing, not zero."""
    require_backend(name)
    gradients = []
    for backend in (backends.get(name), backends.get("reference")):
        (job,) = random_jobs([4, 2], reverses=[True])
        device = device_for(backend)
        leaf = {part: job[part].to(device).requires_grad_() for part in PARTS}
        result = backend.run([as_job(leaf, True)], backends.base.Packing([4, 2], device), LOOSE)[0]
        result.cell.sum().backward()
        gradients.append({part: leaf[part].grad for part in PARTS})

    for part in PARTS:
        if part == "projection":  # the last cell state depends on it through the recurrence
            assert gradients[1][part].abs().max() > 0
        assert_close(gradients[0][part].cpu(), gradients[1][part], BACKEND[torch.float64], part)


@pytest.mark.parametrize("clips", [LOOSE, TIGHT, NONE], ids=["loose", "tight", "none"])
@pytest.mark.parametrize("projection", [3, None])
@pytest.mark.parametrize("name", backends.names())
def test_gradcheck(name, projection, clips, require_backend):
    """Against finite differences, so that nothing that both backends get wrong together goes unseen."""
    require_backend(name)
    backend = backends.get(name)
    device = device_for(backend)
    lengths = [3, 1]
    jobs = random_jobs(lengths, 3, projection, 2)
    present = [part for part in PARTS if jobs[0][part] is not None]
    packing = backends.base.Packing(lengths, device)

    def function(*tensors):
        made = []
        for index, job in enumerate(jobs):
            values = tensors[index * len(present) : (index + 1) * len(present)]
            made.append(as_job({"projection": None, **dict(zip(present, values))}, job["reverse"]))
        return tuple(
            value
            for result in backend.run(made, packing, clips)
            for value in (result.outputs, result.hidden, result.cell)
        )

    leaves = [job[part].to(device).requires_grad_() for job in jobs for part in present]
    assert torch.autograd.gradcheck(function, leaves)


@pytest.mark.parametrize("name", backends.names())
def test_leaves_what_it_is_given_alone(name, require_backend):
    require_backend(name)
    backend = backends.get(name)
    jobs = random_jobs([4, 2])
    for trained in ((), PARTS):
        leaves = [
            {part: job[part].to(device_for(backend)).requires_grad_(part in trained) for part in PARTS} for job in jobs
        ]
        before = [{part: value.detach().clone() for part, value in leaf.items()} for leaf in leaves]
        packing = backends.base.Packing([4, 2], device_for(backend))
        results = backend.run([as_job(leaf, job["reverse"]) for leaf, job in zip(leaves, jobs)], packing, TIGHT)
        if trained:
            sum(result.outputs.sum() + result.cell.sum() for result in results).backward()
        for leaf, values in zip(leaves, before):
            for part in PARTS:
                assert torch.equal(leaf[part].detach(), values[part]), part


@pytest.mark.parametrize("name", backends.names())
def test_no_graph_where_nothing_is_trained_or_gradients_are_off(name, require_backend):
    require_backend(name)
    results = run(backends.get(name), random_jobs([4, 2]), [4, 2], LOOSE, trained=())
    with torch.no_grad():
        off = run(backends.get(name), random_jobs([4, 2]), [4, 2], LOOSE, trained=())

    for result in list(results.values()) + list(off.values()):
        assert result.grad_fn is None and not result.requires_grad


def test_unknown_name_is_refused():
    with pytest.raises(
        BackendUnavailableError, match=r"unknown backend 'cudnn'; choose one of \['auto', 'compiled', 'cpu', "
    ):
        backends.get("cudnn")


def test_a_backend_that_cannot_run_is_refused_with_its_reason(monkeypatch):
    monkeypatch.setattr(backends.CpuBackend, "unavailable_reason", lambda self: "no processor")

    with pytest.raises(BackendUnavailableError, match="backend 'cpu' cannot run here: no processor"):
        backends.get("cpu")


def test_names_are_those_of_the_backends():
    assert {"cpu", "reference"} <= set(backends.names())
    for name in backends.names():
        assert backends._BACKENDS[name].name == name


def test_compiled_kernels_are_preferred_on_a_cpu_and_the_choice_is_logged(caplog, require_backend):
    require_backend("compiled")
    with caplog.at_level(logging.INFO):
        chosen = backends.choose(torch.device("cpu"))

    assert chosen.name == "compiled"
    assert "backend 'compiled' for tensors on cpu" in caplog.text


def test_without_compiled_kernels_the_log_says_why(caplog, monkeypatch):
    monkeypatch.setattr(backends.CompiledBackend, "unavailable_reason", lambda self: "nobody compiled them")
    with caplog.at_level(logging.INFO):
        chosen = backends.choose(torch.device("cpu"))

    assert chosen.name == "cpu"
    assert "no backend 'compiled' here: nobody compiled them" in caplog.text
    assert "backend 'cpu' for tensors on cpu" in caplog.text


@pytest.mark.parametrize("dtype", BACKEND, ids=str)
@pytest.mark.parametrize("name", OTHERS)
def test_strongest_windows_equal_the_reference(name, dtype, require_backend):
    require_backend(name)
    backend = backends.get(name)
    device, generator = device_for(backend), torch.Generator().manual_seed(0)
    words = torch.randn(9, 7, 5, generator=generator, dtype=dtype)
    filters = [
        Convolution(torch.randn(count, 5, width, generator=generator, dtype=dtype), bias)
        for width, count, bias in ((1, 4, None), (7, 3, torch.ones(3, dtype=dtype)), (2, 17, None))
    ]
    moved = [
        Convolution(each.weight.to(device), None if each.bias is None else each.bias.to(device)) for each in filters
    ]

    found = backend.strongest(words.to(device), moved, Derived())

    assert_close(found.cpu(), backends.get("reference").strongest(words, filters, Derived()), BACKEND[dtype])


@pytest.mark.parametrize("device", ["cpu", "cuda", "meta"])
def test_choice_supports_the_device(device):
    assert backends.choose(torch.device(device)).supports(torch.device(device))
