import json
import math

import pytest
import torch

from elmo_plugin.benchmark import gpu_report, machine
from elmo_plugin.benchmark.gpu_report import Case, Result

CPU = torch.device("cpu")


def cases():
    forward = Case("small", 32, False, 1640, 50, peak_mib=12.0)
    forward.results = [Result("loop", 1e-6, 1e-5), Result("triton", 2e-6, 1e-5), Result("fused", 0.5, 1e-2)]
    for result, seconds in zip(forward.results[:2], ([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])):
        result.note_times(1640, seconds, [1.0, 2.0, 3.0])
    trained = Case("small", 128, True, 700, 30)
    trained.results = [Result("auto", 1e-6, 1e-5)]
    trained.results[0].note_times(1000, [0.5], None)
    return [forward, trained]


def rows(text):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]


def test_two_tables():
    text = gpu_report.markdown(cases(), machine.describe(CPU))

    assert rows(text) == [
        ["", "small, 32"],
        ["---", "---:"],
        ["words, steps", "1,640, 50"],
        ["loop", "820 1.0x 1e-06"],
        ["triton", "3,280 4.0x 2e-06"],
        ["fused", "wrong"],
        ["peak, MiB", "12"],
        ["", "small, 128"],
        ["---", "---:"],
        ["words, steps", "700, 30"],
        ["auto", "2,000 1e-06"],
    ]
    assert "- small, batch 32, fused is wrong: error 5.0e-01, allowed 1.0e-02" in text


def test_what_was_not_measured_says_so():
    assert gpu_report.markdown(cases()[:1], machine.describe(CPU)).count("Not measured.") == 1


@pytest.mark.parametrize("error", [math.nan, math.inf, 2e-5])
def test_wrong(error):
    assert Result("a", error, 1e-5).is_wrong
    assert not Result("a", 1e-5, 1e-5).is_wrong


def test_files(tmp_path):
    gpu_report.write(cases(), CPU, tmp_path / "out")

    assert "small, 32" in (tmp_path / "out" / "gpu.md").read_text()
    report = json.loads((tmp_path / "out" / "gpu.json").read_text())
    assert [case["results"][0]["name"] for case in report["cases"]] == ["loop", "auto"]


def test_what_is_not_finite_is_null(tmp_path):
    case = cases()[0]
    case.results = [Result("a", error, 1e-5) for error in (float("nan"), float("inf"), 0.5)]

    gpu_report.write([case], CPU, tmp_path)

    report = json.loads((tmp_path / "gpu.json").read_text(), parse_constant=pytest.fail)
    assert [result["error"] for result in report["cases"][0]["results"]] == [None, None, 0.5]
