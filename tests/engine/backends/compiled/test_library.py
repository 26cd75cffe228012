import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import Clips, LstmWeights
from elmo_plugin.engine.backends.compiled import library
from tests.engine.backends.jobs import LOOSE, can_run
from tests.engine.tolerance import assert_close

needs_the_kernels = pytest.mark.skipif(not can_run("compiled"), reason="no compiled kernels here")


@pytest.fixture
def load_anew():
    library._opened.cache_clear()
    yield
    library._opened.cache_clear()


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_kernels_are_there(require_backend):
    require_backend("compiled")

    assert library.unavailable_reason() is None


def test_without_the_library_the_reason_says_what_to_do(monkeypatch, load_anew):
    monkeypatch.setattr(library, "library_path", lambda: None)

    assert "not built with the package" in library.unavailable_reason()
    with pytest.raises(backends.BackendUnavailableError, match="'compiled' cannot run here: .* C\\+\\+ compiler"):
        backends.get("compiled")
    assert backends.choose(torch.device("cpu")).name == "cpu"


def test_a_damaged_library_is_refused(monkeypatch, load_anew, tmp_path):
    path = tmp_path / "_kernels.so"
    path.write_bytes(b"no library")
    monkeypatch.setattr(library, "library_path", lambda: path)

    reason = library.unavailable_reason()
    assert re.search(r"_kernels.so cannot be loaded \(.*\)\. Install the package again", reason), reason
    assert library.load() is None


NOW = library.INTERFACE


class Built:
    """A library that was built from other sources, or that the processor cannot run."""

    def __init__(self, interface, runs):
        self.elmo_can_run = lambda: runs
        if interface is not None:
            self.elmo_interface = lambda: interface


@pytest.mark.parametrize(
    "built,reason",
    [
        (Built(None, True), f"has the interface none, expected {NOW}: it is of other sources"),
        (Built(NOW - 1, True), f"has the interface {NOW - 1}, expected {NOW}: it is of other sources"),
        (Built(NOW, False), "cannot be used on this processor, which needs AVX2, FMA and F16C"),
    ],
)
def test_a_library_that_does_not_fit_is_refused(monkeypatch, load_anew, built, reason):
    """The kernels of older sources take other arguments: they would write where they should not."""
    monkeypatch.setattr(library, "library_path", lambda: Path("_kernels.so"))
    monkeypatch.setattr(library.ctypes, "CDLL", lambda path: built)

    assert reason in library.unavailable_reason()
    assert library.load() is None


def test_panels_hold_each_weight_once():
    weight = draw(37, 5)
    panels = library.in_panels(weight, torch.float32)

    assert panels.shape == (3, 5, 16)
    assert torch.equal(panels.transpose(1, 2).reshape(48, 5)[:37], weight)
    assert not panels.transpose(1, 2).reshape(48, 5)[37:].any()


def one_step(gates, hidden, cell, weights, clips, dtype=torch.float32, as_they_are=False):
    outputs = torch.full((len(gates), hidden.shape[1]), math.nan)
    gates, hidden, cell = gates.clone(), hidden.clone(), cell.clone()
    given = library.Plain(weights) if as_they_are else library.Panels(weights, dtype)
    library.run_steps(given, clips, [0], [len(gates)], gates, outputs, hidden, cell)
    return outputs, hidden, cell


@needs_the_kernels
@settings(deadline=None, max_examples=60)
@given(cells=st.integers(1, 80), projection=st.none() | st.integers(1, 80), seed=st.integers(0, 99))
def test_a_step_of_a_single_row_with_weights_as_they_are(cells, projection, seed):
    width = cells if projection is None else projection
    weights = LstmWeights(
        input=draw(1, 1),
        recurrent=draw(4 * cells, width, seed=seed) * width**-0.5,
        bias=draw(1),
        projection=None if projection is None else draw(projection, cells, seed=seed + 1) * cells**-0.5,
    )
    given_state = draw(1, 4 * cells, seed=seed + 2), draw(1, width), draw(1, cells, seed=seed + 3)

    found = one_step(*given_state, weights, LOOSE, as_they_are=True)

    for part, expected in zip(found, one_step(*given_state, weights, LOOSE)):
        assert_close(part, expected, 2e-6)


@needs_the_kernels
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 15),
    cells=st.integers(1, 40),
    projection=st.none() | st.integers(1, 40),
    clip=st.sampled_from([0.1, 3.0, None]),
    seed=st.integers(0, 99),
)
def test_a_step_of_any_size(dtype, rows, cells, projection, clip, seed):
    """All sizes of tiles and of what is left over of panels; float16 weights are exact after rounding."""
    width = cells if projection is None else projection
    weights = LstmWeights(
        input=draw(1, 1),
        recurrent=(draw(4 * cells, width, seed=seed) * width**-0.5).to(dtype).float(),
        bias=draw(1),
        projection=None
        if projection is None
        else (draw(projection, cells, seed=seed + 1) * cells**-0.5).half().float(),
    )
    gates, hidden, cell = draw(rows, 4 * cells, seed=seed + 2), draw(rows, width), draw(rows, cells, seed=seed + 3)

    outputs, h, c = one_step(gates, hidden, cell, weights, Clips(clip, clip), dtype)

    i, f, g, o = (gates.double() + hidden.double() @ weights.recurrent.double().t()).split(cells, dim=1)
    bound = math.inf if clip is None else clip
    expected_c = (i.sigmoid() * g.tanh() + f.sigmoid() * cell).clamp(-bound, bound)
    expected = o.sigmoid() * expected_c.tanh()
    if weights.projection is not None:
        expected = (expected @ weights.projection.double().t()).clamp(-bound, bound)
    assert_close(c.double(), expected_c, 2e-6)
    assert_close(outputs.double(), expected, 2e-6)
    assert torch.equal(h, outputs)


@needs_the_kernels
@pytest.mark.parametrize("rows", [1, 7, 20, 40])
def test_a_step_with_weights_that_no_cache_holds(rows):
    """What comes next is fetched ahead by several tiles together."""
    cells, width = 2048, 264
    weights = LstmWeights(
        draw(1, 1), draw(4 * cells, width) * width**-0.5, draw(1), draw(width, cells, seed=1) * cells**-0.5
    )
    assert weights.recurrent.numel() * weights.recurrent.element_size() > 8 << 20

    outputs = one_step(torch.zeros(rows, 4 * cells), draw(rows, width), draw(rows, cells), weights, LOOSE)[0]

    i, f, g, o = (draw(rows, width).double() @ weights.recurrent.double().t()).split(cells, dim=1)
    c = (i.sigmoid() * g.tanh() + f.sigmoid() * draw(rows, cells)).clamp(-3, 3)
    expected = (o.sigmoid() * c.tanh()) @ weights.projection.double().t()
    assert_close(outputs.double(), expected.clamp(-3, 3), 2e-6)


@needs_the_kernels
@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(0, 15),
    inputs=st.integers(1, 40) | st.sampled_from([255, 256, 257, 300, 520]),
    outputs=st.integers(1, 50),
    seed=st.integers(0, 99),
)
def test_a_product_with_a_weight_as_it_is(rows, inputs, outputs, seed):
    x, weight = draw(rows, inputs, seed=seed), draw(outputs, inputs, seed=seed + 1) * inputs**-0.5
    out = draw(rows, outputs, seed=seed + 2)
    expected = out.double() + x.double() @ weight.double().t()

    library.add_product(x, weight, out)

    assert_close(out.double(), expected, 4e-6)


@needs_the_kernels
def test_functions_of_the_gates_are_exact_over_their_whole_range():
    """Through a step without weights: o * tanh(i * tanh(g)), with one of them varied."""
    values = torch.cat([torch.linspace(-120, 120, 20001), torch.logspace(-30, 2, 5000), -torch.logspace(-30, 2, 5000)])
    zero = torch.zeros(len(values), 1)
    nothing = LstmWeights(draw(1, 1), torch.zeros(4, 1), draw(1), None)
    large = torch.full_like(zero, 100.0)

    for gates, expected in [
        (torch.cat([values[:, None], zero, large, large], dim=1), values.double().sigmoid().tanh()),
        (torch.cat([large, zero, values[:, None], large], dim=1), values.double().tanh().tanh()),
    ]:
        found = one_step(gates, zero, zero, nothing, Clips(None, None))[0][:, 0].double()

        assert float(((found - expected).abs() / expected.abs().clamp(min=1e-30)).max()) < 1e-6


@needs_the_kernels
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("gate", range(4))
def test_what_is_no_number_stays_none_and_infinities_saturate(gate, bad):
    cells = 11
    gates = draw(2, 4 * cells)
    gates[1, gate * cells + 9] = bad
    weights = LstmWeights(draw(1, 1), torch.zeros(4 * cells, cells), draw(1), None)

    outputs = one_step(gates, torch.zeros(2, cells), draw(2, cells), weights, Clips(3.0, 3.0))[0]

    i, f, g, o = gates.split(cells, dim=1)
    expected = o.sigmoid() * (i.sigmoid() * g.tanh() + f.sigmoid() * draw(2, cells)).clamp(-3, 3).tanh()
    assert torch.equal(outputs.isnan(), expected.isnan())
    assert torch.allclose(outputs, expected, atol=1e-6, equal_nan=True)


@needs_the_kernels
@settings(deadline=None, max_examples=60)
@given(
    words=st.integers(0, 4),
    columns=st.integers(4, 18),
    channels=st.integers(1, 9),
    filters=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 35)), min_size=1, max_size=3),
    bad=st.booleans(),
)
def test_the_strongest_windows_of_any_size(words, columns, channels, filters, bad):
    embedded = draw(words, columns, channels)
    if bad and words:
        embedded[-1, columns // 2, 0] = math.nan
    weights = [draw(count, channels, width, seed=width) for width, count in filters]
    panels = [library.in_panels(weight.transpose(1, 2).flatten(1), torch.float32) for weight in weights]

    found = library.run_strongest(embedded, panels, [width for width, _ in filters], [count for _, count in filters])

    expected = [torch.nn.functional.conv1d(embedded.transpose(1, 2), weight).amax(dim=2) for weight in weights]
    assert torch.allclose(found, torch.cat(expected, dim=1), atol=1e-5, equal_nan=True)
