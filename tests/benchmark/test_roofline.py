from types import SimpleNamespace

import pytest
import torch

from elmo_plugin.benchmark import roofline
from elmo_plugin.benchmark.roofline import Roofline
from elmo_plugin.benchmark.sizes import SIZES

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.002)
    monkeypatch.setattr(roofline, "_LARGE", (64, 64, 64))


def fixed(cache, peak=1e9, bandwidth=1e9, product=5e8):
    """A machine with known rates."""

    class Fixed(Roofline):
        def _product_rate(self, shape):
            return peak if shape == roofline._LARGE else product

        def _memory_rate(self):
            return bandwidth

    return Fixed(CPU, 1, cache)


def limit_of(machine, options, batch, lengths):
    machine.measure(options, batch)
    return machine.limit(options, batch, lengths)


def test_rates_are_measured(monkeypatch):
    monkeypatch.setitem(roofline._BEYOND_CACHE, "cpu", (256, 256))
    machine = Roofline(CPU, 1, cache=123)

    machine.measure(SIZES["tiny"], 3)

    assert machine.rates.peak > 1e6 and machine.rates.bandwidth > 1e6
    assert (machine.rates.device, machine.rates.threads, machine.rates.cache) == ("cpu", 1, 123)
    assert machine.limit(SIZES["tiny"], 3, [[2, 1, 1]]).products_per_second > 0


def test_the_best_rates_are_kept():
    rates = iter([2.0, 9.0, 9.0, 9.0, 5.0, 4.0, 3.0, 1.0, 1.0, 7.0])

    class Changing(Roofline):
        def _product_rate(self, shape):
            return next(rates)

        _memory_rate = lambda self: next(rates)  # noqa: E731

    machine = Changing(CPU, 1, cache=None)
    for peak, bandwidth in [(2.0, 5.0), (4.0, 7.0)]:
        machine.measure(SIZES["tiny"], 3)
        assert (machine.rates.peak, machine.rates.bandwidth) == (peak, bandwidth)


def test_work_of_a_word():
    limit = limit_of(fixed(cache=None), SIZES["original"], 1, [[10**6]])  # boundaries do not show

    assert limit.flops_per_word / 1e6 == pytest.approx(151, abs=0.5)
    # recurrent and projection weights of four layers, 4 bytes each
    assert limit.bytes_per_word == pytest.approx(4 * 4 * (4 * 4096 * 512 + 4096 * 512), rel=1e-5)


def test_memory_binds_where_weights_do_not_fit_the_cache():
    alone = limit_of(fixed(cache=2**20), SIZES["original"], 1, [[20]])
    many = limit_of(fixed(cache=2**20), SIZES["original"], 64, [[20] * 64])
    fits = limit_of(fixed(cache=2**30), SIZES["original"], 1, [[20]])

    assert alone.bound == "memory"
    assert alone.words_per_second == pytest.approx(1e9 / alone.bytes_per_word)
    assert many.bytes_per_word == pytest.approx(alone.bytes_per_word / 64)
    assert (many.bound, fits.bound) == ("arithmetic", "arithmetic")
    assert fits.bytes_per_word == 0
    assert fits.words_per_second == pytest.approx(1e9 / fits.flops_per_word)
    assert fits.products_per_second == pytest.approx(5e8 / fits.flops_per_word)


def test_boundaries_are_shared_among_the_words():
    one, ten = (limit_of(fixed(cache=2**30), SIZES["small"], 1, [[length]]).flops_per_word for length in (1, 10))

    assert one / ten == pytest.approx(3 / 1.2)


def test_no_projection():
    options = SimpleNamespace(lstm=SimpleNamespace(dim=8, projection_dim=8, n_layers=1, has_projection=False))

    limit = limit_of(fixed(cache=2**30), options, 1, [[10**6]])

    assert limit.flops_per_word == pytest.approx(2 * 2 * (2 * 4 * 8 * 8), rel=1e-5)
