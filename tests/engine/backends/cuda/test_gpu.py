"""
What only a GPU can show: kernels as they are compiled, graphs as CUDA runs them, streams.

Skipped without a GPU, failures there under `--require-backend cuda`.
"""

import threading

import pytest
import torch

from elmo_plugin.benchmark.sizes import random_model
from elmo_plugin.benchmark.transcription import Transcription
from elmo_plugin.engine import backends
from elmo_plugin.engine.backends import cuda
from elmo_plugin.engine.backends.base import Packing
from elmo_plugin.engine.backends.cuda.backend import runtime
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.elmo import Elmo
from elmo_plugin.engine.errors import DeviceMemoryError
from tests.engine.backends.cuda.test_inference import made, named
from tests.engine.backends.jobs import LOOSE, NONE, PARTS, TIGHT, as_job, random_jobs, reference, run
from tests.engine.tolerance import BACKEND, GRADIENTS, LAYERS, assert_close, error

pytestmark = pytest.mark.gpu

LENGTHS = [[1], [7, 3, 1], [63, 2], [2, 0, 9, 0], [33] * 20 + [5] * 50, []]
#: cells, projection, inputs: that fit no tile, and that fit all of them; each with other clips, since every
#: combination takes kernels of its own
SIZES = [((7, 4, 5), TIGHT), ((5, None, 5), NONE), ((256, 64, 32), LOOSE)]
HALF = [torch.float16, torch.bfloat16]
#: what each way to compute steps can compute in
KINDS = [
    *[("torch", dtype) for dtype in (torch.float64, torch.float32, *HALF)],
    *[(steps, dtype) for steps in ("triton", "fused") for dtype in (torch.float32, *HALF)],
]


@pytest.fixture(autouse=True)
def default_settings():
    yield
    if torch.cuda.is_available():
        cuda.configure(**vars(cuda.CudaSettings()))


def on_gpu(jobs, dtype=torch.float32, device="cuda"):
    moved = {part: [job[part] if job[part] is None else job[part].to(device) for job in jobs] for part in PARTS}
    return made([{**job, **{part: moved[part][index] for part in PARTS}} for index, job in enumerate(jobs)], dtype)


def with_weights_of(ready, jobs):
    """Other inputs and states to the same weights."""
    leaves = [{part: job[part].float().cuda() for part in ("inputs", "hidden", "cell")} for job in jobs]
    return [as_job({**vars(kept.weights), **leaf}, job["reverse"]) for kept, leaf, job in zip(ready, leaves, jobs)]


def packed(lengths):
    return Packing(lengths, torch.device("cuda"))


def captured():
    return [len(w.graphs) for w in runtime.on(torch.device("cuda", torch.cuda.current_device()))._workspaces.values()]


@pytest.mark.parametrize("size,clips", SIZES, ids=["small", "no projection", "large"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: str(lengths)[:20])
@pytest.mark.parametrize("steps,dtype", KINDS, ids=str)
def test_equals_the_reference(steps, dtype, lengths, size, clips):
    """Forward and backward; plain, captured and run again."""
    cuda.configure(steps=steps)
    jobs = random_jobs(lengths, *size)
    rounded = [
        {**job, **{part: None if job[part] is None else job[part].to(dtype).double() for part in PARTS}} for job in jobs
    ]
    expected = reference(rounded, lengths, clips)
    if dtype in HALF:
        plain = reference(jobs, lengths, clips, dtype=dtype)
        allowed = {what: 2 * error(plain[what], value) + 2e-3 for what, value in expected.items()}
    else:
        allowed = dict.fromkeys(expected, BACKEND[dtype])
    actual = run(backends.get("cuda"), jobs, lengths, clips, dtype=dtype)
    ready = on_gpu(jobs, dtype)
    with torch.no_grad():
        for _ in range(3):
            for what, value in named(backends.get("cuda").run(ready, packed(lengths), clips)).items():
                assert_close(value.cpu(), expected[what], allowed[what], what)

    for what, value in expected.items():
        assert actual[what].dtype == dtype
        assert_close(actual[what].cpu(), value, allowed[what], what)


@pytest.mark.parametrize("steps,dtype", KINDS, ids=str)
def test_the_same_every_time(steps, dtype):
    """Bit for bit: no sum depends on who comes first."""
    cuda.configure(steps=steps)
    lengths = [20, 20, 13, 4]
    jobs = random_jobs(lengths, 256, 64, 32)
    ready = on_gpu(jobs, dtype)
    backend = backends.get("cuda")
    runs = [named(backend.run(ready, packed(lengths), LOOSE)) for _ in range(5)]
    trained = [run(backend, jobs, lengths, LOOSE, dtype=dtype) for _ in range(3)]

    for group in (runs, trained):
        for other in group[1:]:
            for what, value in group[0].items():
                assert torch.equal(other[what], value), what


@pytest.mark.parametrize("steps", ["torch", "triton", "fused"])
def test_one_graph_serves_other_lengths_inputs_states_and_weights(steps):
    cuda.configure(steps=steps)
    weights = on_gpu(random_jobs([8, 3, 2], 64, 32, 16))
    for seed, lengths in enumerate([[8, 3, 2], [8, 8, 8], [8, 1, 1, 1], [8, 5, 4, 4]]):
        jobs = random_jobs(lengths, 64, 32, 16, seed=seed)
        for job, kept in zip(jobs, weights):
            for part in ("input", "recurrent", "bias", "projection"):
                getattr(kept.weights, part).add_(0.001)
                job[part] = getattr(kept.weights, part).double().cpu()
        ready = with_weights_of(weights, jobs)
        expected = reference(jobs, lengths, TIGHT, trained=())
        for what, value in named(backends.get("cuda").run(ready, packed(lengths), TIGHT)).items():
            assert_close(value.cpu(), expected[what], BACKEND[torch.float32], what)

    assert captured() == [1]


@pytest.mark.parametrize("steps", ["torch", "triton", "fused"])
def test_graphs_are_captured_anew_when_the_last_ones_went(steps):
    """More rows take another workspace, and the graphs of the old one go: all that held their pool of memory."""
    cuda.configure(steps=steps)
    ready = on_gpu(random_jobs([4], 64, 32, 16))
    for number, rows in enumerate([2, 2, 2, 30, 30, 30]):
        lengths = [4] * rows
        jobs = random_jobs(lengths, 64, 32, 16, seed=number)
        for job, kept in zip(jobs, ready):
            for part in ("input", "recurrent", "bias", "projection"):
                job[part] = getattr(kept.weights, part).double().cpu()
        expected = reference(jobs, lengths, LOOSE, trained=())
        for what, value in named(
            backends.get("cuda").run(with_weights_of(ready, jobs), packed(lengths), LOOSE)
        ).items():
            assert_close(value.cpu(), expected[what], BACKEND[torch.float32], what)

        assert captured() == [int(number % 3 > 0)]


@pytest.mark.parametrize("steps,dtype", KINDS, ids=str)
def test_memory_is_written_before_it_is_read(steps, dtype, monkeypatch):
    cuda.configure(steps=steps)
    lengths = [6, 6, 2]
    jobs = random_jobs(lengths, 64, 32, 16)
    ready = on_gpu(jobs, dtype)
    backend = backends.get("cuda")
    expected = named(backend.run(ready, packed(lengths), TIGHT))
    trained = run(backend, jobs, lengths, TIGHT, dtype=dtype)
    for workspace in runtime.on(torch.device("cuda", torch.cuda.current_device()))._workspaces.values():
        for memory in workspace.memories:
            for tensor in (memory.inputs, memory.hidden, memory.cell, memory.outputs, *memory.scratch.values()):
                tensor.fill_(float("nan"))
    for what, value in named(backend.run(ready, packed(lengths), TIGHT)).items():
        assert torch.equal(value, expected[what]), what

    def poisoned(allocate):
        def make(*args, **kwargs):
            made = allocate(*args, **kwargs)
            return made.fill_(float("nan")) if made.is_floating_point() else made

        return make

    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty))
    monkeypatch.setattr(torch, "empty_like", poisoned(torch.empty_like))
    monkeypatch.setattr(torch, "empty", poisoned(torch.empty))
    for what, value in run(backend, jobs, lengths, TIGHT, dtype=dtype).items():
        assert torch.equal(value, trained[what]), what


@pytest.mark.parametrize("steps", ["torch", "triton", "fused"])
def test_streams_and_threads_share_one_workspace(steps):
    """Calls that overlap on the GPU, and calls of two threads, as if they came one after the other."""
    cuda.configure(steps=steps)
    cases = []
    for seed in range(4):
        jobs = random_jobs([40, 31, 7], 256, 64, 32, seed=seed)
        cases.append((on_gpu(jobs), reference(jobs, [40, 31, 7], LOOSE, trained=())))
    torch.cuda.synchronize()
    backend, problems = backends.get("cuda"), []

    def work(mine):
        try:
            stream = torch.cuda.Stream()
            for _ in range(5):
                found = []
                with torch.no_grad(), torch.cuda.stream(stream):
                    for ready, _ in mine:
                        found.append(named(backend.run(ready, packed([40, 31, 7]), LOOSE)))
                stream.synchronize()
                for actual, (_, expected) in zip(found, mine):
                    for what, value in actual.items():
                        assert_close(value.cpu(), expected[what], BACKEND[torch.float32], what)
        except Exception as problem:  # a thread's own
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(cases[number::2],)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def bilm_and_ids(size="small", **others):
    model = random_model(size, seed=0)
    bilm = BiLm(model.options, backend="cuda", state="reset", **others)
    bilm.load_tensors(model.tensors, size)
    sentences = [["The", "cat", "sat", "on", "the", "mat", "."] * 3, ["Yes", "."], ["Words"] * 50]
    return model, bilm, batch_to_ids(sentences)


@pytest.mark.parametrize("allow_tf32", [False, True])
def test_float32_is_exact_whatever_the_process_allows(allow_tf32):
    """Token layer included; and inside autocast."""
    model, bilm, ids = bilm_and_ids()
    ids = ids.cuda()
    expected = Transcription(model.options, model.tensors, torch.float64, ids.device).layers(ids)
    elmo = Elmo(bilm).cuda().eval()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allow_tf32 else "highest")
    try:
        for _ in range(3):
            with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
                actual = elmo.raw_layers(ids).layers
            assert actual.dtype == torch.float32
            assert_close(actual, expected, LAYERS[torch.float32])
    finally:
        torch.set_float32_matmul_precision(before)


def test_gradients_of_a_bilm_are_those_of_the_cpu():
    gradients = []
    for device in ("cpu", "cuda"):
        model, bilm, ids = bilm_and_ids("tiny", fine_tune=True)
        bilm.lstm._backend = backends.get("cuda" if device == "cuda" else "cpu")
        bilm.double().to(device)
        bilm(ids.to(device)).layers.square().sum().backward()
        gradients.append({name: parameter.grad.cpu() for name, parameter in bilm.named_parameters()})

    for name, value in gradients[0].items():
        assert_close(gradients[1][name], value, GRADIENTS[torch.float64], name)


def test_out_of_memory_is_explained_and_the_next_call_works():
    lengths = [4] * 1000
    jobs = on_gpu(random_jobs([4], 512, 64, 32))
    for job in jobs:
        object.__setattr__(job, "inputs", job.inputs[:1].expand(4000, -1))
        object.__setattr__(job, "hidden", job.hidden.expand(1000, -1))
        object.__setattr__(job, "cell", job.cell.expand(1000, -1))
    cuda.configure(block_tokens=50_000_000)  # 400 GB
    with pytest.raises(DeviceMemoryError, match="1000 rows and 4000 tokens, the longest row 4"):
        backends.get("cuda").run(jobs, packed(lengths), LOOSE)
    cuda.configure(**vars(cuda.CudaSettings()))
    assert backends.get("cuda").run(jobs, packed(lengths), LOOSE)[0].outputs.isfinite().all()


def test_memory_does_not_grow_with_the_number_of_shapes():
    cuda.configure(max_graphs=8)
    backend = backends.get("cuda")
    generator = torch.Generator().manual_seed(0)
    ready, used = on_gpu(random_jobs([1], 64, 32, 16)), []
    for number in range(300):
        rows = int(torch.randint(1, 40, (1,), generator=generator))
        lengths = torch.randint(0, 50, (rows,), generator=generator).tolist() + [1]
        jobs = random_jobs(lengths, 64, 32, 16, seed=number)
        backend.run(with_weights_of(ready, jobs), packed(lengths), LOOSE)
        if number >= 100:
            used.append(torch.cuda.memory_allocated())

    assert max(captured()) <= 8
    assert max(used[100:]) <= max(used[:100]) * 1.05


def test_triton_works_here():
    """Else everything above ran by PyTorch's operators where it says auto."""
    local = runtime.on(torch.device("cuda", torch.cuda.current_device()))

    assert local.steps(torch.float32).name == "triton"


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_another_gpu_than_the_current_one():
    jobs = random_jobs([5, 2], 64, 32, 16)
    expected = reference(jobs, [5, 2], LOOSE, trained=())
    other = torch.device("cuda", 1)
    ready = on_gpu(jobs, device=other)
    for _ in range(3):
        for what, value in named(backends.get("cuda").run(ready, Packing([5, 2], other), LOOSE)).items():
            assert value.device == other
            assert_close(value.cpu(), expected[what], BACKEND[torch.float32], what)
