"""The benchmark of training on a GPU, with the cpu backend in the place of the cuda backend."""

import math

import pytest
import torch

from elmo_plugin.benchmark import gpu_training
from elmo_plugin.benchmark.gpu_report import Case
from elmo_plugin.benchmark.gpu_training import AUTOGRAD, VARIANTS, TrainingBench, Variant, difference
from elmo_plugin.benchmark.sizes import random_model

CPU = torch.device("cpu")


@pytest.fixture
def bench(monkeypatch):
    stand_ins = {
        name: Variant("cpu" if variant.dtype == torch.float32 else "reference", variant.dtype)
        for name, variant in VARIANTS.items()
    }
    monkeypatch.setattr(gpu_training, "VARIANTS", stand_ins)
    monkeypatch.setattr(gpu_training, "_SECONDS", 0.0)
    return TrainingBench(random_model("tiny", seed=0), CPU, [7, 3, 5])


def filled(bench):
    case = Case("tiny", 3, True, 9, 7)
    bench.fill(case)
    return {result.name: result for result in case.results}


def test_variants_that_agree_get_times(bench, monkeypatch):
    monkeypatch.setattr(TrainingBench, "_seconds", lambda self, variant: 0.5 if variant.backend == "cpu" else 1.0)

    results = filled(bench)

    assert list(results) == list(VARIANTS)
    assert not any(result.is_wrong for result in results.values())
    assert 0 < results[AUTOGRAD].error < 2e-5 < results["auto, bfloat16"].error
    assert results["auto, float32"].per_second == 15 / 0.5
    assert results["auto, bfloat16"].ratio.median == 0.5


def test_wrong_gradients_get_none(bench, monkeypatch):
    real = TrainingBench._gradients

    def off(self, variant):
        found = real(self, variant)
        if variant is gpu_training.VARIANTS["auto, float32"]:
            found["forward_layers.0.bias"][0] += 1
        return found

    monkeypatch.setattr(TrainingBench, "_gradients", off)
    monkeypatch.setattr(TrainingBench, "_seconds", lambda self, variant: 1.0)
    results = filled(bench)

    assert results["auto, float32"].is_wrong and results["auto, float32"].per_second is None
    assert results["torch, float32"].per_second == 15.0


def test_a_call_is_timed(bench):
    assert bench._seconds(gpu_training.VARIANTS[AUTOGRAD]) > 0


def test_difference():
    one = {"a": torch.tensor([1.0, 4.0])}

    assert difference({"a": torch.tensor([1.0, 3.0])}, one) == 0.25
    assert difference({}, one) == math.inf
    assert difference({"a": torch.tensor([1.0, math.nan])}, one) == math.inf
