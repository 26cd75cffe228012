"""
The Triton kernels by Triton's interpreter, against PyTorch's operators on the same memory.

The interpreter takes about a tenth of a second for a launch: few steps, and sizes that fit no tile. Its products of
bfloat16 are wrong, so that fused kernels of that dtype are only compiled here; `test_gpu.py` runs them.
"""

import subprocess
import sys

import pytest
import torch

from elmo_plugin.engine.backends.base import Clips
from elmo_plugin.engine.backends.cuda import tiles, triton_steps
from elmo_plugin.engine.backends.cuda.schedule import span
from elmo_plugin.engine.backends.cuda.steps import GRAPH_ROWS, TorchSteps
from elmo_plugin.engine.backends.cuda.triton_steps import Kernels, TritonSteps
from elmo_plugin.engine.packing import Packing
from tests.engine.backends.cuda.fakes import compilable_kernels, interpreted_kernels
from tests.engine.backends.cuda.memories import LENGTHS, ROWS, filled, layer, results
from tests.engine.backends.jobs import LOOSE, NONE, TIGHT
from tests.engine.tolerance import BACKEND, assert_close

CPU = torch.device("cpu")

# A step in half precision against one in the same precision by other sums, relative to values of about 1.
HALF = {torch.float16: 2e-3, torch.bfloat16: 2e-2}


def steps(fused):
    return TritonSteps(interpreted_kernels(), fused)


@pytest.mark.parametrize(
    "fused,dtype,projection,clips,records,known",
    [
        (True, torch.float32, True, TIGHT, False, False),
        (True, torch.float32, True, NONE, True, True),
        (True, torch.float16, True, LOOSE, False, False),
        (True, torch.float32, False, TIGHT, True, False),
        (False, torch.float32, True, TIGHT, True, True),
        (False, torch.float32, True, NONE, False, False),
        (False, torch.bfloat16, False, LOOSE, True, False),
    ],
    ids=str,
)
def test_step_equals_that_of_pytorch(fused, dtype, projection, clips, records, known):
    """The second step, in which two of three rows run; everything that must not be read is not a number."""
    weights = layer(projection, dtype=dtype)
    packing = Packing(LENGTHS, CPU)
    whole = span(packing, False, 0, packing.steps)
    expected = filled(weights, whole, dtype=dtype, records=records)
    actual = filled(weights, whole, dtype=dtype, records=records, steps=steps(fused))
    rows = whole.sizes[1] if known else ROWS
    assert whole.sizes[1] == 2 < packing.rows
    TorchSteps().forward(expected, weights, clips, 1, whole.sizes[1], whole)
    steps(fused).forward(actual, weights, clips, 1, rows, whole if known else None)

    for what, value in results(expected, packing).items():
        found = results(actual, packing)[what]
        written = ~value.isnan()
        assert torch.equal(written, ~found.isnan()), what
        tolerance = HALF[dtype] if dtype in HALF else BACKEND[dtype]
        assert_close(found[written], value[written], tolerance, what)


def test_products_of_several_tiles():
    """More than one tile in every direction, none of the last ones full."""
    cells, width, rows = 70, 40, 18
    weights = layer(True, cells, width, torch.float32)
    packing = Packing([2] * 17 + [1], CPU)  # in reverse 17 rows run at first
    whole = span(packing, True, 0, 2)
    assert tiles.splits(rows, cells, width) == 1
    expected = filled(weights, whole, dtype=torch.float32, rows=rows)
    actual = filled(weights, whole, dtype=torch.float32, rows=rows, steps=steps(True))
    TorchSteps().forward(expected, weights, TIGHT, 0, 17, whole)
    steps(True).forward(actual, weights, TIGHT, 0, rows, None)

    for what, value in results(expected, packing).items():
        written = ~value.isnan()
        assert_close(results(actual, packing)[what][written], value[written], BACKEND[torch.float32], what)


@pytest.mark.parametrize("clip", [None, 0.1])
def test_shares_are_added_up_and_clipped(clip):
    """The last share is not full."""
    cells, width = 520, 3
    assert tiles.splits(1, cells, width) == 2
    weights = layer(True, cells, width, torch.float32)
    whole = span(Packing([1], CPU), False, 0, 1)
    memory = filled(weights, whole, dtype=torch.float32, rows=1, steps=steps(True))
    emitted = torch.randn(1, cells, generator=torch.Generator().manual_seed(0))
    memory.scratch["emitted"].copy_(emitted)
    steps(True)._project(memory, weights.projection, Clips(None, clip), 0, 1)

    expected = emitted @ weights.projection.t()
    expected = expected if clip is None else expected.clamp(-clip, clip)
    assert_close(memory.hidden, expected, BACKEND[torch.float32])
    assert torch.equal(memory.outputs[:1], memory.hidden)
    assert memory.scratch["shares"].shape == (2, 1, width) and not memory.scratch["shares"].isnan().any()


def test_functions_are_exact_over_their_whole_range():
    """A gate of the cell's input, with the other gates open, is the tangent; and that of an open gate is a sigmoid."""
    x = torch.cat([torch.linspace(-12, 12, 401), torch.logspace(-6, 0, 80), torch.tensor([0.0, 100.0, -100.0])])
    number = len(x)
    weights = layer(False, cells=number, dtype=torch.float32)
    packing = Packing([1], CPU)
    whole = span(packing, False, 0, 1)
    made = steps(False)
    memory = filled(weights, whole, dtype=torch.float32, rows=1, records=True, steps=made)
    memory.hidden.zero_()
    memory.inputs[0] = x.repeat(4)
    made.forward(memory, weights, NONE, 0, 1, whole)
    i, f, g, o = memory.inputs[0].chunk(4)

    exact = x.double()
    tangent = torch.tanh(exact)
    assert ((g - tangent).abs() <= 4e-7 * tangent.abs()).all(), "relative, so for the smallest too"
    for gate in (i, f, o):
        assert ((gate - torch.sigmoid(exact)).abs() <= 2e-7).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bound", [None, 0.4])
def test_gradients_equal_those_of_pytorch(bound, dtype):
    rows, cells, width = 2, 130, 5
    generator = torch.Generator().manual_seed(0)

    def draw(*shape, dtype=dtype):
        return torch.randn(shape, generator=generator).to(dtype)

    gates, cell = torch.sigmoid(draw(rows, 4 * cells)), draw(rows, cells, dtype=torch.float32)
    cell = cell if bound is None else cell.clamp(-bound, bound)
    previous, d_emitted = draw(rows, cells, dtype=torch.float32), draw(rows, cells)
    d_cell = [draw(rows, cells, dtype=torch.float32)]
    d_cell.append(d_cell[0].clone())
    targets = [torch.full((rows, 4 * cells), float("nan"), dtype=dtype) for _ in range(2)]
    later, arriving, outputs = draw(rows, width), draw(rows, width), draw(rows, width)
    d_outputs = [torch.full((rows, width), float("nan"), dtype=dtype) for _ in range(2)]
    for number, made in enumerate((TorchSteps(), steps(False))):
        made.gate_gradients(d_emitted, gates, previous, cell, d_cell[number], bound, targets[number])
        made.output_gradient(later, arriving, outputs, bound, d_outputs[number])

    tolerance = HALF.get(dtype, 1e-6)
    assert_close(targets[1], targets[0], tolerance)
    assert_close(d_cell[1], d_cell[0], 1e-6)
    assert_close(d_outputs[1], d_outputs[0], tolerance)


def test_what_is_not_a_number_is_not_clipped_away():
    weights = layer(dtype=torch.float32)
    packing = Packing([1], CPU)
    whole = span(packing, False, 0, 1)
    memory = filled(weights, whole, dtype=torch.float32, steps=steps(False))
    memory.inputs[0] = float("nan")
    steps(False).forward(memory, weights, TIGHT, 0, 1, whole)

    assert memory.cell[0].isnan().all() and memory.hidden[0].isnan().all() and memory.outputs[0].isnan().all()


def test_rows_in_a_graph():
    kernels = object()

    assert TritonSteps(kernels, fused=True).graph_rows() is None
    assert TritonSteps(kernels, fused=False).graph_rows() == GRAPH_ROWS
    assert [TritonSteps(kernels, fused).name for fused in (True, False)] == ["fused", "triton"]


def test_what_kernels_can_compute_in():
    ampere, turing = Kernels(None, (8, 0)), Kernels(None, (7, 5))

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        assert ampere.unsuitable(dtype, fused=True) is None
    assert turing.unsuitable(torch.float16, fused=False) is None
    assert "capability is (7, 5), but products inside" in turing.unsuitable(torch.float16, fused=True)
    assert "capability is (7, 5), but bfloat16" in turing.unsuitable(torch.bfloat16, fused=False)
    assert "torch.float64" in ampere.unsuitable(torch.float64, fused=False)


def test_missing_triton_is_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)

    kernels, reason = triton_steps.load(CPU)

    assert kernels is None and reason.startswith("Triton cannot be imported (")


def test_old_triton_is_a_reason(monkeypatch):
    monkeypatch.setattr(pytest.importorskip("triton"), "__version__", "2.1.0")

    assert triton_steps.load(CPU) == (None, "Triton 2.1.0 is older than 3.0")


def test_old_gpu_is_a_reason(monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (6, 1))

    assert triton_steps.load(CPU) == (None, "compute capability is (6, 1), Triton needs (7, 0) or more")


@pytest.mark.parametrize(
    "error,text",
    [
        (RuntimeError("0 active drivers"), "Triton cannot launch a kernel (RuntimeError: 0 active drivers)"),
        (subprocess.CalledProcessError(1, "cc"), "Triton cannot launch a kernel (CalledProcessError: Command 'cc'"),
    ],
    ids=["driver", "compiler"],
)
def test_a_kernel_that_cannot_be_launched_is_a_reason(monkeypatch, error, text):
    pytest.importorskip("triton")

    def fails(kernels, device):
        raise error

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(triton_steps, "probe", fails)
    kernels, reason = triton_steps.load(CPU)

    assert kernels is None and reason.startswith(text)


def test_an_error_of_triton_itself_is_a_reason(monkeypatch):
    """Its assembler does not know the processor: none of Python's own kinds of error."""
    pytest.importorskip("triton")
    from triton.runtime.errors import PTXASError

    def fails(kernels, device):
        raise PTXASError("sm_130a is not defined")

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (13, 0))
    monkeypatch.setattr(triton_steps, "probe", fails)
    kernels, reason = triton_steps.load(CPU)

    assert kernels is None and "(PTXASError: " in reason and "sm_130a is not defined" in reason


def test_probe_sees_wrong_results():
    class Broken:
        arrive = {(1,): lambda *args, **kwargs: args[3].zero_()}

    triton_steps.probe(interpreted_kernels(), CPU)
    with pytest.raises(RuntimeError, match=r"1 \+ 1 gives \[0.0"):
        triton_steps.probe(Broken(), CPU)


KINDS = ["gates", "gates of products", "recording gates", "project", "project in shares", "finish", "arrive", "back"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 32, 128])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("arch", [80, 90])
def test_kernels_compile_for_the_published_sizes(arch, dtype, rows, kind):
    """By Triton's compiler, down to machine code: within shared memory, and 16 bytes at a time where it matters."""
    compiled = compile_kernel(kind, arch, dtype, rows)

    assert compiled.metadata.shared <= 160 * 1024
    if kind in ("gates", "recording gates", "project", "project in shares"):
        assert "cp.async.cg.shared.global" in compiled.asm["ptx"] and "mma" in compiled.asm["ptx"]
    if dtype == "bf16" and arch == 90 and rows == 128 and kind == "gates":
        assert "wgmma" in compiled.asm["ptx"]


def test_one_kernel_compiles():
    assert "mma" in compile_kernel("gates", 80, "bf16", 32).asm["ptx"]


def compile_kernel(kind, arch, dtype, rows, cells=4096, width=512):
    kernels = compilable_kernels()
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    gates, project = tiles.gates_tile(rows, cells, width), tiles.project_tile(rows, cells)
    clip, splits = 3.0, 8 if "shares" in kind else 1
    tile, names = gates, {"CELLS": cells, "WIDTH": width}
    if "gates" in kind:
        kernel, multiplies = kernels.gates, "products" not in kind
        names.update(CELL_CLIP=clip, MULTIPLIES=multiplies, RECORDS="recording" in kind)
        names.update(BLOCK_ROWS=tile.rows if multiplies else 1, BLOCK_WIDTH=tile.depth)
        names.update(BLOCK_CELLS=tile.columns if multiplies else tiles.piece(cells))
    elif "project" in kind:
        kernel, tile = kernels.project, project
        names.update(CLIP=clip, SPLITS=splits, SPAN=cells // splits)
        names.update(BLOCK_ROWS=tile.rows, BLOCK_WIDTH=tile.columns, BLOCK_CELLS=tile.depth)
    elif kind == "finish":
        kernel = kernels.finish
        names = {"WIDTH": width, "CLIP": clip, "SPLITS": 4, "BLOCK_WIDTH": tiles.piece(width)}
    elif kind == "arrive":
        kernel, names = kernels.arrive, {"CLIP": clip, "BLOCK": 512}
    else:
        kernel, names = kernels.gates_backward, {"CELLS": cells, "CLIP": clip, "BLOCK": tiles.piece(cells)}
    single = {"cell", "recorded_cell", "shares", "previous_cell", "d_cell"}
    whole = {"step": "i32", "numbers": "i32", "share": "i32", "schedule": "*i64"}
    signature, attributes = {}, {}
    for place, name in enumerate(kernel.arg_names):
        if name in names:
            signature[name] = "constexpr"
        else:
            signature[name] = whole.get(name, "*fp32" if name in single else f"*{dtype}")
        if signature[name].startswith("*"):
            attributes[(place,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel, signature=signature, constexprs=names, attrs=attributes)
    return compile(
        source, target=GPUTarget("cuda", arch, 32), options={"num_warps": tile.warps, "num_stages": tile.stages}
    )
