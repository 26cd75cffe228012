"""What of the times on a GPU can be seen without one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from elmo_plugin.benchmark import machine, timing
from elmo_plugin.benchmark.agreement import TOLERANCE
from elmo_plugin.engine.backends.cuda import CudaSettings

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load():
    """A package of the same name as the folder may be installed, so that the file is not imported by name."""
    spec = importlib.util.spec_from_file_location("gpu_times", FOLDER / "gpu.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


gpu = load()


def case(**others):
    found = gpu.Case("small", 32, 640, 50, peak_mib=12.0)
    for name in gpu.variants():
        result = gpu.verdict(name, **{"error": 1e-6, "allowed": 1e-5, **others.get(name, {})})
        if result.refused is None:
            result.words_per_second, result.ratio = 12345.6, timing.Spread(5.25, 5.0, 5.5)
        found.results.append(result)
    return found


def test_variants_are_all_ways_to_compute_steps():
    variants = gpu.variants()

    assert next(iter(variants)) == gpu.LOOP and variants[gpu.LOOP].settings is None
    for variant in variants.values():
        CudaSettings(**(variant.settings or {}))
    for dtype in (torch.float32, torch.bfloat16):
        steps = {v.settings.get("steps") for v in variants.values() if v.settings and v.dtype == dtype}
        assert {"torch", "triton", "fused"} <= steps


def test_wrong_vectors_get_no_time():
    text = gpu.markdown([case(**{"fused, bfloat16": {"error": 0.5}})], machine.describe(torch.device("cpu")))

    rows = {
        line.split("|")[1].strip(): line.split("|")[2].strip() for line in text.splitlines() if line.startswith("|")
    }
    assert rows["fused, bfloat16"] == "wrong"
    assert rows["triton, float32"] == "12,346 5.2x 1e-06"
    assert rows["words, steps"] == "640, 50" and rows["peak, MiB"] == "12"
    assert "- small, batch 32, fused, bfloat16: its vectors are wrong: error 5.0e-01, allowed 1.0e-05" in text


@pytest.mark.parametrize("error", [float("nan"), float("inf"), 2e-5])
def test_verdict(error):
    assert gpu.verdict("a", error, 1e-5).refused is not None
    assert gpu.verdict("a", 1e-5, 1e-5).refused is None


def test_no_case_begins_when_the_time_is_over(monkeypatch, capsys):
    monkeypatch.setattr(gpu.Bench, "fill", lambda self, found: None)
    cases = list(gpu.measured(torch.device("cpu"), seconds=-1.0))

    assert cases == []
    assert "no time left for original, batch 32" in capsys.readouterr().err


def test_what_is_allowed_and_what_is_written(monkeypatch, tmp_path):
    """The comparison itself, on the CPU, with a loop in the place of the backend."""
    model = gpu.random_model("tiny", seed=0)
    ids = gpu.batch_to_ids([["The", "cat"], ["Yes"]])
    bench = gpu.Bench(model, torch.device("cpu"), ids)
    monkeypatch.setattr(
        gpu.Bench, "_error", lambda self, variant, exact, mask: 0.0 if variant.dtype == torch.float32 else 1.0
    )
    results = bench._compared()

    assert {result.name for result in results if result.refused is None} == {
        name for name, variant in gpu.variants().items() if variant.dtype == torch.float32
    }
    assert {result.allowed for result in results if result.refused is None} == {TOLERANCE["float32"]}
    assert all(1e-3 < result.allowed < 0.5 for result in results if result.refused)
    gpu.write([case()], torch.device("cpu"), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"gpu.json", "gpu.md"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu(capsys):
    assert gpu.main([]) == 2
    assert "there is no CUDA device here" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.skipif(os.name == "nt", reason="a bash script")
def test_script_stops_without_a_gpu(tmp_path):
    environment = {**os.environ, "PYTHON": sys.executable, "OUT": str(tmp_path / "out")}
    run = subprocess.run(["bash", str(FOLDER / "gpu.sh")], env=environment, capture_output=True, text=True)

    assert run.returncode != 0
    assert "passed" not in run.stdout
