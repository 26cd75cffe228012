"""Times of the LSTM stack forward and backward on a GPU: the cuda backend beside autograd through a loop over steps."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, Optional, Sequence

import torch

from elmo_plugin.benchmark import timing
from elmo_plugin.benchmark.gpu_report import Case, Result
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.engine.backends import cuda
from elmo_plugin.engine.lstm import BiLstm
from elmo_plugin.engine.packing import Packing

#: the baseline
AUTOGRAD = "autograd, float32"

#: of gradients in float32, relative to the largest of a tensor
TOLERANCE = 2e-5

# In half precision: so many times the error of autograd in it, and a little where that happens to be none.
_HALF_FACTOR, _HALF_MARGIN = 2.0, 1e-3

_ROUNDS = 3
_WARM_UP = 2
_SECONDS = 0.2


@dataclass(frozen=True)
class Variant:
    """
    A way to go forward and backward.

    # Parameters

    backend, dtype : of the stack.
    settings : of the cuda backend.
    """

    backend: str
    dtype: torch.dtype
    settings: Optional[Dict[str, Any]] = None


VARIANTS: Dict[str, Variant] = {
    AUTOGRAD: Variant("reference", torch.float32),
    "torch, float32": Variant("cuda", torch.float32, {"steps": "torch"}),
    "auto, float32": Variant("cuda", torch.float32),
    "autograd, bfloat16": Variant("reference", torch.bfloat16),
    "auto, bfloat16": Variant("cuda", torch.bfloat16),
}


class TrainingBench:
    """
    One biLM and one batch.

    # Parameters

    model : the biLM, of which the LSTM stack is taken.
    device : where.
    lengths : of the rows, boundaries included.
    """

    def __init__(self, model: Model, device: torch.device, lengths: Sequence[int]) -> None:
        self._model = model
        self._device = device
        self._packing = Packing(lengths, device)
        self._rows = len(lengths)
        generator = torch.Generator().manual_seed(0)
        width = model.options.lstm.projection_dim
        self._inputs = torch.randn(self._packing.tokens, width, generator=generator).to(device)
        self._arriving = torch.randn(self._packing.tokens, 2 * width, generator=generator).to(device)

    def fill(self, case: Case) -> None:
        """Compare all gradients with those in float64, then measure those variants that agree, in turns."""
        exact = self._gradients(Variant("reference", torch.float64))
        half = difference(self._gradients(VARIANTS["autograd, bfloat16"]), exact)
        for name, variant in VARIANTS.items():
            allowed = TOLERANCE if variant.dtype == torch.float32 else _HALF_FACTOR * half + _HALF_MARGIN
            case.results.append(Result(name, difference(self._gradients(variant), exact), allowed))
        agreeing = [result for result in case.results if not result.is_wrong]
        tasks = {result.name: partial(self._seconds, VARIANTS[result.name]) for result in agreeing}
        times = timing.in_turns(tasks, _ROUNDS, seconds=0.0)
        for result in agreeing:
            result.note_times(self._packing.tokens, times[result.name], times.get(AUTOGRAD))

    def _call(self, variant: Variant) -> Callable[[], BiLstm]:
        """What goes forward and backward once, and returns the stack with its gradients."""
        cuda.configure(**{**vars(cuda.CudaSettings()), **(variant.settings or {})})
        stack = BiLstm(self._model.options.lstm, backend=variant.backend)
        weights = {name[5:]: value for name, value in self._model.tensors.items() if name.startswith("lstm.")}
        missing = stack.load_state_dict(weights, strict=False).missing_keys
        assert all(name.endswith("forget_residual") for name in missing), missing
        stack.to(self._device, variant.dtype)
        inputs, arriving = self._inputs.to(variant.dtype), self._arriving.to(variant.dtype)
        state = stack.zero_state(self._rows, inputs)

        def call() -> BiLstm:
            stack.zero_grad(set_to_none=True)
            outputs, _ = stack(inputs, self._packing, state)
            outputs[-1].backward(arriving)
            return stack

        return call

    def _gradients(self, variant: Variant) -> Dict[str, torch.Tensor]:
        stack = self._call(variant)()
        return {name: value.grad for name, value in stack.named_parameters() if value.grad is not None}

    def _seconds(self, variant: Variant) -> float:
        call = self._call(variant)
        for _ in range(_WARM_UP):
            call()
        self._wait()
        begun, calls = time.perf_counter(), 0
        while not calls or time.perf_counter() - begun < _SECONDS:
            call()
            self._wait()
            calls += 1
        return (time.perf_counter() - begun) / calls

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)


def difference(actual: Dict[str, torch.Tensor], expected: Dict[str, torch.Tensor]) -> float:
    """The largest difference of any gradient, relative to the largest of its tensor; infinite where one is missing."""
    if set(actual) != set(expected):
        return float("inf")
    worst = 0.0
    for name, value in expected.items():
        found = float((actual[name].double() - value.double()).abs().max() / value.double().abs().max())
        worst = max(worst, float("inf") if found != found else found)
    return worst
