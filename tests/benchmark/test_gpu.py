"""What of the times on a GPU can be seen without one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from elmo_plugin.benchmark import gpu
from elmo_plugin.benchmark.agreement import TOLERANCE
from elmo_plugin.engine.backends.cuda import CudaSettings

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.sh"
CPU = torch.device("cpu")

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


def test_variants_are_all_ways_to_compute_steps():
    variants = gpu.variants()

    assert next(iter(variants)) == gpu.LOOP and variants[gpu.LOOP].settings is None
    for variant in variants.values():
        CudaSettings(**(variant.settings or {}))
    for dtype in (torch.float32, torch.bfloat16):
        steps = {v.settings.get("steps") for v in variants.values() if v.settings and v.dtype == dtype}
        assert {"torch", "triton", "fused"} <= steps


def test_no_case_begins_when_the_time_is_over(capsys):
    assert list(gpu.measured(CPU, seconds=-1.0)) == []
    assert "no time left for original, batch 32, training" in capsys.readouterr().err


def test_tf32_is_off(monkeypatch):
    """PyTorch allows it to convolutions: the loop would be off by more than its tolerance, and nothing had a ratio."""
    seen = []

    def fill(self, case):
        seen.append(torch.backends.cudnn.allow_tf32)

    monkeypatch.setattr(gpu, "CASES", (("tiny", 1, False), ("tiny", 1, True)))
    monkeypatch.setattr(gpu.Bench, "fill", fill)
    monkeypatch.setattr(gpu.TrainingBench, "fill", fill)

    assert len(list(gpu.measured(CPU, seconds=60.0))) == 2
    assert seen == [False, False] and torch.backends.cudnn.allow_tf32


def fails(error):
    def fill(self, case):
        raise error

    return fill


def test_a_case_without_memory_is_left_out_and_named(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "CASES", (("tiny", 1, True), ("tiny", 1, False)))
    monkeypatch.setattr(gpu.TrainingBench, "fill", fails(RuntimeError("CUDA out of memory. Tried")))
    monkeypatch.setattr(gpu.Bench, "fill", lambda self, case: None)

    assert [case.trains for case in gpu.measured(CPU, seconds=60.0)] == [False]
    assert "no memory for tiny, batch 1, training: CUDA out of memory" in capsys.readouterr().err


def test_other_errors_are_not_hidden(monkeypatch):
    monkeypatch.setattr(gpu, "CASES", (("tiny", 1, False),))
    monkeypatch.setattr(gpu.Bench, "fill", fails(RuntimeError("an illegal memory access was encountered")))

    with pytest.raises(RuntimeError, match="illegal"):
        list(gpu.measured(CPU, seconds=60.0))


def test_nothing_measured_is_an_error(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)

    assert gpu.main(["--seconds", "-1", "--output", str(tmp_path)]) == 1
    assert "nothing was measured" in capsys.readouterr().err


@pytest.fixture
def bench(monkeypatch):
    """With made-up errors of the backend: those in half precision are wrong."""
    bench = gpu.Bench(gpu.random_model("tiny", seed=0), CPU, gpu.batch_to_ids([["The", "cat"], ["Yes"]]))
    real = gpu.Bench._error

    def error(self, variant, exact, mask):
        if variant.settings is None:
            return real(self, variant, exact, mask)
        return 0.0 if variant.dtype == torch.float32 else 1.0

    monkeypatch.setattr(gpu.Bench, "_error", error)
    monkeypatch.setattr(gpu.Bench, "_seconds", lambda self, variant: 2.0 if variant.settings is None else 0.5)
    return bench


def test_what_is_wrong_gets_no_time(bench):
    case = gpu.Case("tiny", 2, False, 3, 4)
    bench.fill(case)

    variants = gpu.variants()
    assert [result.name for result in case.results] == list(variants)
    for result in case.results:
        if variants[result.name].dtype == torch.float32:
            assert result.allowed == TOLERANCE["float32"] and result.error <= result.allowed
            assert result.ratio.median == (1.0 if result.name == gpu.LOOP else 4.0)
        else:
            assert 1e-3 < result.allowed < 0.5 and result.is_wrong and result.per_second is None


@without_gpu
def test_no_gpu(capsys):
    assert gpu.main([]) == 2
    assert "there is no CUDA device here" in capsys.readouterr().err


@without_gpu
@pytest.mark.skipif(os.name == "nt", reason="a bash script")
def test_script_stops_without_a_gpu(tmp_path):
    environment = {**os.environ, "PYTHON": sys.executable, "OUT": str(tmp_path / "out")}
    run = subprocess.run(["bash", str(SCRIPT)], env=environment, capture_output=True, text=True)

    assert run.returncode != 0
    assert "passed" not in run.stdout
