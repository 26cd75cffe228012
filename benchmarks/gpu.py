"""
Times of the cuda backend beside a loop over steps as AllenNLP makes it, each in every way to compute a step.

    PYTHONPATH=. python benchmarks/gpu.py

Vectors are compared first: with the loop in float64 or, in half precision, with the error that the loop makes in the
same precision. What differs gets no time. The table comes last.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch

from elmo_plugin.benchmark import agreement, machine, table, text, timing
from elmo_plugin.benchmark.sizes import Model, random_model
from elmo_plugin.benchmark.transcription import Transcription
from elmo_plugin.engine.backends import cuda
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.elmo import Elmo

#: biLM and batch, the more important first: what does not fit the time is left out
CASES = (
    ("original", 32),
    ("original", 1),
    ("original", 128),
    ("original", 512),
    ("small", 32),
    ("small", 1),
    ("small", 128),
)

LOOP = "loop, float32"
_ROUNDS = 3
_WARM_UP = 3  # plain, captured, run again

# A measurement repeats the call until so much time has passed.
_SECONDS = 0.1

# In half precision: so many times the loop's own error, and a little where that happens to be none.
_HALF_FACTOR, _HALF_MARGIN = 2.0, 1e-3


@dataclass(frozen=True)
class Variant:
    """
    A way to compute the vectors.

    # Parameters

    dtype : of the weights.
    settings : of the cuda backend; None for the loop.
    """

    dtype: torch.dtype
    settings: Optional[Dict[str, Any]] = None


def variants() -> Dict[str, Variant]:
    """What is measured, by name: the baseline first."""
    found = {LOOP: Variant(torch.float32)}
    for dtype, kinds in (
        (torch.float32, ("torch", "triton", "fused")),
        (torch.bfloat16, ("torch", "triton", "fused")),
        (torch.float16, ("fused",)),
    ):
        name = str(dtype).replace("torch.", "")
        for steps in kinds:
            found[f"{steps}, {name}"] = Variant(dtype, {"steps": steps})
        found[f"auto, {name}, no graphs"] = Variant(dtype, {"max_graphs": 0})
    return found


@dataclass
class Result:
    """
    What came out for one variant of one case.

    # Parameters

    name : of the variant.
    error, allowed : relative to the largest value of a layer where that is above 1.
    words_per_second : at the median of the rounds.
    ratio : how many times as fast as the loop; None without times.
    refused : why there are no times.
    """

    name: str
    error: float
    allowed: float
    words_per_second: Optional[float] = None
    ratio: Optional[timing.Spread] = None
    refused: Optional[str] = None


@dataclass
class Case:
    """
    A biLM and a batch.

    # Parameters

    size, batch : which.
    words, steps : in the batch, and of its longest sentence with boundaries.
    peak_mib : memory of the GPU at most during the comparison of the variants of this engine.
    results : of its variants.
    """

    size: str
    batch: int
    words: int
    steps: int
    peak_mib: float = 0.0
    results: List[Result] = field(default_factory=list)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Measure and print; return 1 where vectors are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180.0, help="begin no further case after so long")
    parser.add_argument("--output", type=Path, default=Path("runs/gpu"), help="folder for gpu.json and gpu.md")
    chosen = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("error: there is no CUDA device here.", file=sys.stderr)
        return 2
    device = torch.device("cuda", torch.cuda.current_device())
    cases: List[Case] = []
    for case in measured(device, chosen.seconds):
        cases.append(case)
        write(cases, device, chosen.output)  # complete after every case
    print((chosen.output / "gpu.md").read_text(encoding="utf-8"))
    return 1 if any(result.refused for case in cases for result in case.results) else 0


def measured(device: torch.device, seconds: float) -> Iterator[Case]:
    """Measure one case after the other until the time is over."""
    begun = time.monotonic()
    models: Dict[str, Model] = {}
    for size, batch in CASES:
        if time.monotonic() - begun > seconds:
            print(f"no time left for {size}, batch {batch}", file=sys.stderr)
            continue
        models.setdefault(size, random_model(size, seed=0))
        sentences = text.natural_batches(text.make_sentences(batch, seed=0), batch, 1)[0]
        case = Case(size, batch, sum(map(len, sentences)), max(map(len, sentences)) + 2)
        print(f"{size}, batch {batch}", file=sys.stderr, flush=True)
        Bench(models[size], device, batch_to_ids(sentences).to(device)).fill(case)
        yield case


class Bench:
    """
    One case.

    # Parameters

    model : the biLM.
    device : a GPU.
    ids : `(batch, words, characters)`, on it.
    """

    def __init__(self, model: Model, device: torch.device, ids: torch.Tensor) -> None:
        self._model = model
        self._device = device
        self._ids = ids
        self._made: Dict[torch.dtype, Elmo] = {}
        self._loop = self._transcription(torch.float32)

    def _transcription(self, dtype: torch.dtype) -> Transcription:
        return Transcription(self._model.options, self._model.tensors, dtype, self._device)

    def fill(self, case: Case) -> None:
        """Compare all variants, then measure those that agree, in turns."""
        torch.cuda.reset_peak_memory_stats(self._device)
        case.results = self._compared()
        case.peak_mib = torch.cuda.max_memory_allocated(self._device) / 2**20
        known = variants()
        agreeing = [result for result in case.results if result.refused is None]
        tasks = {result.name: partial(self._seconds, known[result.name]) for result in agreeing}
        times = timing.in_turns(tasks, _ROUNDS, seconds=0.0)
        for result in agreeing:
            seconds = times[result.name]
            result.words_per_second = case.words / timing.quantile(seconds, 0.5)
            result.ratio = timing.spread(timing.ratios(times[LOOP], seconds))

    def _compared(self) -> List[Result]:
        mask = (self._ids > 0).any(dim=2)
        exact = self._transcription(torch.float64).layers(self._ids)
        allowed = {torch.float32: agreement.TOLERANCE["float32"]}
        for dtype in (torch.bfloat16, torch.float16):
            own = agreement.error(self._transcription(dtype).layers(self._ids), exact, mask)
            allowed[dtype] = _HALF_FACTOR * own + _HALF_MARGIN
        return [
            verdict(name, self._error(variant, exact, mask), allowed[variant.dtype])
            for name, variant in variants().items()
        ]

    def _error(self, variant: Variant, exact: torch.Tensor, mask: torch.Tensor) -> float:
        """The largest of a plain call, of one that is captured and of one that runs what was captured."""
        if variant.settings is None:
            return agreement.error(self._loop.layers(self._ids), exact, mask)
        self._configure(variant)
        elmo = self._elmo(variant.dtype)
        with torch.no_grad():
            return max(agreement.error(elmo.raw_layers(self._ids).layers, exact, mask) for _ in range(_WARM_UP))

    def _configure(self, variant: Variant) -> None:
        assert variant.settings is not None
        cuda.configure(**{**asdict(cuda.CudaSettings()), **variant.settings})

    def _elmo(self, dtype: torch.dtype) -> Elmo:
        if dtype not in self._made:
            bilm = BiLm(self._model.options, backend="cuda", state="reset")
            bilm.load_tensors(self._model.tensors, self._model.size)
            self._made[dtype] = Elmo(bilm).to(self._device, dtype).eval()
        return self._made[dtype]

    def _seconds(self, variant: Variant) -> float:
        """Seconds of a call, from many."""
        if variant.settings is None:
            return self._timed(lambda: self._loop.layers(self._ids).mean(dim=0))
        self._configure(variant)
        elmo = self._elmo(variant.dtype)
        return self._timed(lambda: elmo(self._ids).representations[0])

    @torch.no_grad()
    def _timed(self, call: Callable[[], Any]) -> float:
        for _ in range(_WARM_UP):
            call()
        torch.cuda.synchronize(self._device)
        begun, calls = time.perf_counter(), 0
        while time.perf_counter() - begun < _SECONDS:
            call()
            torch.cuda.synchronize(self._device)
            calls += 1
        return (time.perf_counter() - begun) / calls


def verdict(name: str, error: float, allowed: float) -> Result:
    """Whether a variant may be measured."""
    refused = None if error <= allowed else f"its vectors are wrong: error {error:.1e}, allowed {allowed:.1e}"
    return Result(name, error, allowed, refused=refused)


def write(cases: Sequence[Case], device: torch.device, folder: Path) -> None:
    """Write gpu.json and gpu.md."""
    described = machine.describe(device)
    folder.mkdir(parents=True, exist_ok=True)
    report = {"machine": described, "cases": [asdict(case) for case in cases]}
    (folder / "gpu.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (folder / "gpu.md").write_text(markdown(cases, described), encoding="utf-8")


def markdown(cases: Sequence[Case], described: Dict[str, Any]) -> str:
    """All cases as one table, a column each: words a second, and how many times as fast as the loop."""
    packages = ", ".join(f"{name} {version}" for name, version in described["packages"].items() if version)
    header = ["", *(f"{case.size}, {case.batch}" for case in cases)]
    rows = [["words, steps", *(f"{case.words}, {case.steps}" for case in cases)]]
    for name in variants():
        found = [next((result for result in case.results if result.name == name), None) for case in cases]
        rows.append([name, *map(_cell, found)])
    rows.append(["peak, MiB", *(f"{case.peak_mib:,.0f}" for case in cases)])
    wrong = [
        f"- {case.size}, batch {case.batch}, {result.name}: {result.refused}"
        for case in cases
        for result in case.results
        if result.refused
    ]
    parts = [
        f"{described['gpu']}; {packages}; CUDA {described['cuda']}; commit {described['commit']}; {described['time']}.",
        "Words a second (sentence boundaries are computed, not counted), times the loop, error.",
        table.table(header, rows),
        "\n".join(wrong),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cell(result: Optional[Result]) -> str:
    if result is None:
        return ""
    if result.words_per_second is None or result.ratio is None:
        return "wrong"
    return f"{result.words_per_second:,.0f} {result.ratio.median:.1f}x {result.error:.0e}"


if __name__ == "__main__":
    sys.exit(main())
