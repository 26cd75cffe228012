from types import SimpleNamespace

import pytest
import torch

from elmo_plugin.benchmark import roofline
from elmo_plugin.benchmark.roofline import Rates, Roofline
from elmo_plugin.benchmark.sizes import SIZES

CPU = torch.device("cpu")
LSTM = SIZES["original"].lstm


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.002)
    monkeypatch.setattr(roofline, "_LARGE", (64, 64, 64))


def fixed(cache, peak=1e9, bandwidth=1e9, product=5e8):
    """A machine with known rates."""
    result = Roofline.__new__(Roofline)
    result.rates = Rates("cpu", 1, peak, bandwidth, cache)
    result.product_rate = lambda shape: product
    return result


def test_rates_are_measured(monkeypatch):
    monkeypatch.setitem(roofline._BEYOND_CACHE, "cpu", (256, 256))
    found = Roofline(CPU, 1, cache=123).rates

    assert found.peak > 1e6 and found.bandwidth > 1e6
    assert (found.device, found.threads, found.cache) == ("cpu", 1, 123)


def test_work_of_a_word():
    limit = fixed(cache=None).limit(SIZES["original"], 1, [[10**6]])  # boundaries do not show

    assert limit.flops_per_word / 1e6 == pytest.approx(151, abs=0.5)
    # recurrent and projection weights of four layers, 4 bytes each
    assert limit.bytes_per_word == pytest.approx(4 * 4 * (4 * 4096 * 512 + 4096 * 512), rel=1e-5)


def test_memory_binds_where_weights_do_not_fit_the_cache():
    alone = fixed(cache=2**20).limit(SIZES["original"], 1, [[20]])
    many = fixed(cache=2**20).limit(SIZES["original"], 64, [[20] * 64])
    fits = fixed(cache=2**30).limit(SIZES["original"], 1, [[20]])

    assert alone.bound == "memory"
    assert alone.words_per_second == pytest.approx(1e9 / alone.bytes_per_word)
    assert many.bytes_per_word == pytest.approx(alone.bytes_per_word / 64)
    assert (many.bound, fits.bound) == ("arithmetic", "arithmetic")
    assert fits.bytes_per_word == 0
    assert fits.words_per_second == pytest.approx(1e9 / fits.flops_per_word)
    assert fits.products_per_second == pytest.approx(5e8 / fits.flops_per_word)


def test_boundaries_are_shared_among_the_words():
    one, ten = (fixed(cache=2**30).limit(SIZES["small"], 1, [[length]]).flops_per_word for length in (1, 10))

    assert one / ten == pytest.approx(3 / 1.2)


def test_products_are_measured_once(monkeypatch):
    found = Roofline.__new__(Roofline)
    found._device, found._products = CPU, {}
    calls = []
    monkeypatch.setattr(found, "_fastest", lambda work: calls.append(work) or 2.0)

    assert found.product_rate((2, 3, 5)) == found.product_rate((2, 3, 5)) == 30.0
    assert len(calls) == 1


def test_no_projection():
    options = SimpleNamespace(lstm=SimpleNamespace(dim=8, projection_dim=8, n_layers=1, has_projection=False))

    limit = fixed(cache=2**30).limit(options, 1, [[10**6]])

    assert limit.flops_per_word == pytest.approx(2 * 2 * (2 * 4 * 8 * 8), rel=1e-5)
