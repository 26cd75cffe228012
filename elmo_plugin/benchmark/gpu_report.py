"""What came out on a GPU, as JSON and as tables."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from elmo_plugin.benchmark import machine, table, timing


@dataclass
class Result:
    """
    What came out for one variant of one case.

    # Parameters

    name : of the variant.
    error, allowed : of the vectors, or of the gradients in training; relative.
    per_second : words or, in training, tokens, at the median of the rounds; None without times.
    ratio : how many times as fast as the baseline; None where that has no times.
    """

    name: str
    error: float
    allowed: float
    per_second: Optional[float] = None
    ratio: Optional[timing.Spread] = None

    @property
    def is_wrong(self) -> bool:
        """Whether it may not be measured; what is not a number is wrong too."""
        return not self.error <= self.allowed

    def note_times(self, done: int, seconds: Sequence[float], baseline: Optional[Sequence[float]]) -> None:
        """Take in the seconds of each round, in which so many words or tokens were done."""
        self.per_second = done / timing.quantile(seconds, 0.5)
        if baseline is not None:
            self.ratio = timing.spread(timing.ratios(baseline, seconds))


@dataclass
class Case:
    """
    A biLM and a batch.

    # Parameters

    size, batch : which.
    trains : whether it is about forward and backward.
    words, steps : in the batch, and of its longest sentence with boundaries.
    peak_mib : memory of the GPU at most while the variants were compared; 0 where it was not looked at.
    results : of its variants.
    """

    size: str
    batch: int
    trains: bool
    words: int
    steps: int
    peak_mib: float = 0.0
    results: List[Result] = field(default_factory=list)

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.size}, batch {self.batch}{', training' if self.trains else ''}"


def write(cases: Sequence[Case], device: torch.device, folder: Path) -> None:
    """Write gpu.json and gpu.md into a folder. What is not a finite number is null in the first, as JSON has it."""
    described = machine.describe(device)
    folder.mkdir(parents=True, exist_ok=True)
    report = {"machine": described, "cases": [asdict(case, dict_factory=_strict) for case in cases]}
    (folder / "gpu.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (folder / "gpu.md").write_text(markdown(cases, described), encoding="utf-8")


def _strict(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in pairs}


def markdown(cases: Sequence[Case], described: Dict[str, Any]) -> str:
    """
    Two tables, forward and training, with a column for each case.

    # Parameters

    cases : what was measured.
    described : see `machine.describe`.
    """
    packages = ", ".join(f"{name} {version}" for name, version in described["packages"].items() if version)
    parts = [
        f"{described['gpu']}; {packages}; CUDA {described['cuda']}; commit {described['commit']}; {described['time']}.",
        "Words a second (sentence boundaries are computed, not counted), times the loop, error of the vectors.",
        _table([case for case in cases if not case.trains]),
        "The LSTM stack forward and backward: tokens a second, times autograd through a loop, error of the gradients.",
        _table([case for case in cases if case.trains]),
        "\n".join(
            f"- {case.name}, {result.name} is wrong: error {result.error:.1e}, allowed {result.allowed:.1e}"
            for case in cases
            for result in case.results
            if result.is_wrong
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(cases: Sequence[Case]) -> str:
    if not cases:
        return "Not measured."
    rows = [["words, steps", *(f"{case.words:,}, {case.steps}" for case in cases)]]
    for name in dict.fromkeys(result.name for case in cases for result in case.results):
        found = [next((result for result in case.results if result.name == name), None) for case in cases]
        rows.append([name, *map(_cell, found)])
    if any(case.peak_mib for case in cases):
        rows.append(["peak, MiB", *(f"{case.peak_mib:,.0f}" for case in cases)])
    return table.table(["", *(f"{case.size}, {case.batch}" for case in cases)], rows)


def _cell(result: Optional[Result]) -> str:
    if result is None or result.per_second is None:
        return "" if result is None else "wrong"
    ratio = "" if result.ratio is None else f" {result.ratio.median:.1f}x"
    return f"{result.per_second:,.0f}{ratio} {result.error:.0e}"
