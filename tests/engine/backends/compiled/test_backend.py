from dataclasses import replace
from functools import partial

import pytest
import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import FLOAT16, INT8, Convolution
from elmo_plugin.engine.backends.compiled import backend, library
from elmo_plugin.engine.backends.cpu import products
from elmo_plugin.engine.evidence import Derived
from tests.engine.backends.jobs import all_of, one_job
from tests.engine.tolerance import BACKEND, assert_close

LENGTHS = [9, 9, 4, 1]

job = partial(one_job, LENGTHS)


@pytest.fixture(autouse=True)
def needs_the_kernels(require_backend):
    require_backend("compiled")


@pytest.fixture
def calls(monkeypatch):
    """Which kernels were called."""
    made = []
    for name in ("run_steps", "run_strongest"):
        run = getattr(library, name)
        monkeypatch.setattr(
            library, name, lambda *args, name=name, run=run, **others: made.append(name) or run(*args, **others)
        )
    return made


def outputs_of(some_job, name="compiled"):
    return all_of(some_job, LENGTHS, name)


def convolutions(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return [
        Convolution(torch.randn(filters, 4, width, generator=generator, dtype=dtype), torch.ones(filters, dtype=dtype))
        for width, filters in ((1, 3), (3, 20))
    ]


def test_weights_are_laid_out_once_and_again_when_they_change(monkeypatch, calls):
    made = []
    prepare = backend.prepare
    monkeypatch.setattr(backend, "prepare", lambda *arguments: made.append(1) or prepare(*arguments))
    some_job = job(Derived())
    before = outputs_of(some_job)
    assert torch.equal(outputs_of(some_job), before)
    assert len(made) == 1

    some_job.weights.recurrent.mul_(2)
    after = outputs_of(some_job)

    assert len(made) == 2 and set(calls) == {"run_steps"}
    assert_close(after, outputs_of(some_job, "reference"), BACKEND[torch.float32])


@pytest.mark.parametrize("cells,projection", [(30, 12), (64, 32), (5, None), (16, None)])
def test_float16_is_near_and_not_equal(calls, cells, projection):
    if backends.get("compiled").refuses(FLOAT16) is not None:
        pytest.skip("no float16 here")
    for memo in (None, Derived()):
        found = outputs_of(job(memo, FLOAT16, cells=cells, projection=projection)).double()
        exact = outputs_of(job(dtype=torch.float64, cells=cells, projection=projection), "reference")

        assert 0 < float((found - exact).abs().max()) <= 2e-3
    assert calls


@pytest.mark.parametrize("cells,projection", [(30, 12), (64, 40), (5, None), (16, None)])
def test_a_single_row_needs_no_second_copy_of_the_weights(monkeypatch, calls, cells, projection):
    monkeypatch.setattr(backend, "prepare", lambda *arguments: pytest.fail("weights were laid out"))
    alone = one_job([7], Derived(), cells=cells, projection=projection)

    found = all_of(alone, [7], "compiled")

    assert calls == ["run_steps"]
    assert_close(found, all_of(alone, [7], "reference"), BACKEND[torch.float32])


def test_a_single_row_of_weights_that_do_not_lie_side_by_side(calls):
    alone = one_job([7])
    for part in ("input", "recurrent", "projection"):
        spread = getattr(alone.weights, part).t().contiguous().t()
        assert not spread.is_contiguous()
        spread_job = replace(alone, weights=replace(alone.weights, **{part: spread}))

        assert_close(all_of(spread_job, [7], "compiled"), all_of(alone, [7], "reference"), BACKEND[torch.float32])
    assert len(calls) == 3


@pytest.mark.parametrize("cells,projection", [(30, 12), (64, 32), (5, None), (16, None)])
def test_int8_is_near_and_not_equal(calls, cells, projection):
    for memo in (None, Derived()):
        found = outputs_of(job(memo, INT8, cells=cells, projection=projection)).double()
        exact = outputs_of(job(dtype=torch.float64, cells=cells, projection=projection), "reference")

        assert 0 < float((found - exact).abs().max()) <= 5e-2
    assert calls


def test_int8_needs_nothing_of_pytorch(monkeypatch):
    monkeypatch.setattr(products, "unavailable_reason", lambda precision: "no FBGEMM")

    assert backends.get("compiled").refuses(INT8) is None
    assert backends.get("compiled").refuses(FLOAT16) == "no FBGEMM"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_what_it_has_no_kernel_for_is_left_to_the_plain_backend(calls, dtype):
    assert torch.equal(outputs_of(job(dtype=dtype)), outputs_of(job(dtype=dtype), "cpu"))
    assert not calls


def test_int8_gives_the_same_bits_on_any_number_of_threads(calls):
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        try:
            found.append(outputs_of(job(precision=INT8)))
        finally:
            torch.set_num_threads(before)

    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
    assert len(calls) == 3


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_more_than_two_threads_are_left_to_the_plain_backend(calls, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        outputs_of(job())
        words = torch.randn(20, 6, 4)
        backends.get("compiled").strongest(words, convolutions(), Derived())
    finally:
        torch.set_num_threads(before)

    assert bool(calls) == (threads <= backend.MAX_THREADS)


@pytest.mark.parametrize("words", [0, 1, 7, 40])
@pytest.mark.parametrize("threads", [1, 2])
def test_strongest_equals_the_convolution(calls, words, threads):
    embedded = torch.randn(words, 6, 4, generator=torch.Generator().manual_seed(1))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = backends.get("compiled").strongest(embedded, convolutions(), Derived())
    finally:
        torch.set_num_threads(before)

    assert set(calls) == {"run_strongest"}
    assert_close(found, backends.get("reference").strongest(embedded, convolutions(), Derived()), 1e-5)


@pytest.mark.parametrize("which", ["characters", "filters"])
def test_strongest_with_gradients_is_differentiable(calls, which):
    embedded, filters = torch.randn(3, 6, 4), convolutions()
    (embedded if which == "characters" else filters[1].weight).requires_grad_()
    gradients = []
    for name in ("compiled", "reference"):
        value = backends.get(name).strongest(embedded, filters, Derived()).square().sum()
        gradients += torch.autograd.grad(value, embedded if which == "characters" else filters[1].weight)

    assert not calls
    assert_close(gradients[0], gradients[1], 1e-4)


def test_filters_are_laid_out_again_when_they_change():
    memo, filters, words = Derived(), convolutions(), torch.randn(3, 6, 4)
    backends.get("compiled").strongest(words, filters, memo)
    filters[0].weight.mul_(-3)
    filters[1].bias.fill_(7)

    found = backends.get("compiled").strongest(words, filters, memo)

    assert_close(found, backends.get("reference").strongest(words, filters, Derived()), 1e-5)
