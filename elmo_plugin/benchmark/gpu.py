"""
Times of the cuda backend beside a loop over steps as AllenNLP makes it, each in every way to compute a step.

    python -m elmo_plugin.benchmark.gpu

Vectors are compared first: with the loop in float64 or, in half precision, with the error that the loop makes in the
same precision. What differs gets no time. The tables come last.
"""

import argparse
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch

from elmo_plugin.benchmark import agreement, gpu_report, machine, text, timing
from elmo_plugin.benchmark.float32 import without_tf32
from elmo_plugin.benchmark.gpu_report import Case, Result
from elmo_plugin.benchmark.gpu_training import TrainingBench
from elmo_plugin.benchmark.sizes import Model, random_model
from elmo_plugin.benchmark.transcription import Transcription
from elmo_plugin.engine.backends import cuda
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.elmo import Elmo

#: biLM, batch, and whether it is trained; the more important first: what does not fit the time is left out
CASES = (
    ("original", 32, False),
    ("original", 1, False),
    ("original", 128, False),
    ("original", 32, True),
    ("original", 512, False),
    ("small", 32, False),
    ("small", 1, False),
    ("original", 128, True),
    ("small", 128, False),
)

LOOP = "loop, float32"
_ROUNDS = 3
_WARM_UP = 3  # as it is, captured, run again

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


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Measure and print; return 1 where anything is wrong or nothing could be measured, 2 where there is no GPU."""
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
        gpu_report.write(cases, device, chosen.output)  # complete after every case
    if not cases:
        print("error: nothing was measured.", file=sys.stderr)
        return 1
    print((chosen.output / "gpu.md").read_text(encoding="utf-8"))
    return 1 if any(result.is_wrong for case in cases for result in case.results) else 0


def measured(device: torch.device, seconds: float) -> Iterator[Case]:
    """Measure one case after the other until the time is over; one that the GPU has no memory for is named."""
    begun = time.monotonic()
    models: Dict[str, Model] = {}
    for size, batch, trains in CASES:
        sentences = text.natural_batches(text.make_sentences(batch, seed=0), batch, 1)[0]
        lengths = [len(sentence) + 2 for sentence in sentences]
        case = Case(size, batch, trains, sum(map(len, sentences)), max(lengths))
        if time.monotonic() - begun > seconds:
            print(f"no time left for {case.name}", file=sys.stderr)
            continue
        print(case.name, file=sys.stderr, flush=True)
        models.setdefault(size, random_model(size, seed=0))
        try:
            with without_tf32():
                if trains:
                    TrainingBench(models[size], device, lengths).fill(case)
                else:
                    Bench(models[size], device, batch_to_ids(sentences).to(device)).fill(case)
        except RuntimeError as problem:
            if not machine.lacks_memory(problem):
                raise
            print(f"no memory for {case.name}: {problem}", file=sys.stderr)
            cuda.release()
            continue
        yield case


class Bench:
    """
    One biLM and one batch.

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
        case.results = self.compared(case)
        known = variants()
        agreeing = [result for result in case.results if not result.is_wrong]
        tasks = {result.name: partial(self._seconds, known[result.name]) for result in agreeing}
        times = timing.in_turns(tasks, _ROUNDS, seconds=0.0)
        for result in agreeing:
            result.note_times(case.words, times[result.name], times.get(LOOP))

    def compared(self, case: Case) -> List[Result]:
        """Results without times; the memory that this engine takes is noted in the case."""
        mask = (self._ids > 0).any(dim=2)
        exact = self._transcription(torch.float64).layers(self._ids)
        allowed = {torch.float32: agreement.TOLERANCE["float32"]}
        for dtype in (torch.bfloat16, torch.float16):
            own = agreement.error(self._transcription(dtype).layers(self._ids), exact, mask)
            allowed[dtype] = _HALF_FACTOR * own + _HALF_MARGIN
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
        results = [
            Result(name, self._error(variant, exact, mask), allowed[variant.dtype])
            for name, variant in variants().items()
        ]
        if self._device.type == "cuda":
            case.peak_mib = torch.cuda.max_memory_allocated(self._device) / 2**20
        return results

    def _error(self, variant: Variant, exact: torch.Tensor, mask: torch.Tensor) -> float:
        """The largest of a call as it is, of one that is captured and of one that runs what was captured."""
        if variant.settings is None:
            return agreement.error(self._loop.layers(self._ids), exact, mask)
        elmo = self._elmo(variant)
        with torch.no_grad():
            return max(agreement.error(elmo.raw_layers(self._ids).layers, exact, mask) for _ in range(_WARM_UP))

    def _elmo(self, variant: Variant) -> Elmo:
        """The engine, with the settings of a variant."""
        cuda.configure(**{**asdict(cuda.CudaSettings()), **(variant.settings or {})})
        if variant.dtype not in self._made:
            bilm = BiLm(self._model.options, backend="cuda", state="reset")
            bilm.load_tensors(self._model.tensors, self._model.size)
            self._made[variant.dtype] = Elmo(bilm).to(self._device, variant.dtype).eval()
        return self._made[variant.dtype]

    def _seconds(self, variant: Variant) -> float:
        """Seconds of a call, from many."""
        if variant.settings is None:
            return self._timed(lambda: self._loop.layers(self._ids).mean(dim=0))
        elmo = self._elmo(variant)
        return self._timed(lambda: elmo(self._ids).representations[0])

    @torch.no_grad()
    def _timed(self, call: Callable[[], Any]) -> float:
        for _ in range(_WARM_UP):
            call()
        torch.cuda.synchronize(self._device)
        begun, calls = time.perf_counter(), 0
        while not calls or time.perf_counter() - begun < _SECONDS:
            call()
            torch.cuda.synchronize(self._device)
            calls += 1
        return (time.perf_counter() - begun) / calls


if __name__ == "__main__":
    sys.exit(main())
