"""The door of the backend: what goes through compiled kernels, and what is left to the backend in plain PyTorch."""

from functools import partial
from typing import Any, List, Optional, Sequence

import torch

from elmo_plugin.engine.backends.base import FLOAT32, INT8, Clips, Convolution, LstmJob, LstmResult
from elmo_plugin.engine.backends.compiled import library, words
from elmo_plugin.engine.backends.compiled.inference import as_they_are, infer, prepare
from elmo_plugin.engine.backends.cpu import CpuBackend
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.packing import Packing

# Each direction has one thread. With more of them PyTorch's products, which many threads share, are left to it.
MAX_THREADS = 2


class CompiledBackend(CpuBackend):
    """
    Compiled kernels on CPU. Registered under "compiled".

    Float32 weights without gradients: exact or rounded to float16 in up to two threads, rounded to int8 in any number
    of them (two are used), because PyTorch's products in int8 round more. All else is computed as by "cpu".
    """

    name = "compiled"

    def unavailable_reason(self) -> Optional[str]:
        return library.unavailable_reason()

    def refuses(self, precision: str) -> Optional[str]:
        return None if precision == INT8 else super().refuses(precision)

    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        if torch.get_num_threads() > MAX_THREADS and any(job.precision != INT8 for job in jobs):
            return CpuBackend().run(jobs, packing, clips)
        return super().run(jobs, packing, clips)

    def strongest(
        self, embedded: torch.Tensor, convolutions: Sequence[Convolution], memo: Derived[Any]
    ) -> torch.Tensor:
        tensors = [each.weight for each in convolutions] + [each.bias for each in convolutions if each.bias is not None]
        trained = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in [embedded, *tensors])
        if trained or embedded.dtype != torch.float32 or torch.get_num_threads() > MAX_THREADS:
            return super().strongest(embedded, convolutions, memo)
        panels = memo.get(partial(words.prepare, convolutions), [each.weight for each in convolutions], self.name)
        return words.strongest(embedded.contiguous(), convolutions, panels)

    def infer(self, job: LstmJob, packing: Packing, clips: Clips) -> LstmResult:
        if job.weights.recurrent.dtype != torch.float32:
            return super().infer(job, packing, clips)
        made = as_they_are(job.weights) if job.precision == FLOAT32 and packing.rows == 1 else None
        if made is None:
            made = job.prepared(partial(prepare, job.weights, job.precision), self.name, job.precision)
        return infer(job, packing, clips, made)
