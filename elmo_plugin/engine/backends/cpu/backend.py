"""The door of the backend: which way a call goes, and on how many threads."""

from functools import partial
from typing import Any, Callable, List, Optional, Sequence

import torch

from elmo_plugin.engine.backends.base import FLOAT32, Backend, Clips, Convolution, LstmJob, LstmResult
from elmo_plugin.engine.backends.cpu import products
from elmo_plugin.engine.backends.cpu.inference import infer
from elmo_plugin.engine.backends.cpu.training import LstmLayer, Plan
from elmo_plugin.engine.backends.cpu.windows import strongest_of
from elmo_plugin.engine.backends.flat_jobs import need_gradients, results_from, tensors_of
from elmo_plugin.engine.backends.two_threads import run_both
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.packing import Packing

# Below this many multiplications a second thread costs more than it gives.
MIN_SIDE_BY_SIDE = 5_000_000


class CpuBackend(Backend):
    """Packed products on CPU. Registered under "cpu"."""

    name = "cpu"

    def unavailable_reason(self) -> Optional[str]:
        return None

    def supports(self, device: torch.device) -> bool:
        return device.type == "cpu"

    def refuses(self, precision: str) -> Optional[str]:
        return products.unavailable_reason(precision)

    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        if need_gradients(jobs):
            plan = Plan(packing, clips, tuple(job.reverse for job in jobs), side_by_side)
            return results_from(LstmLayer.apply(plan, *[tensor for job in jobs for tensor in tensors_of(job)]))
        with torch.no_grad():
            return side_by_side([partial(self.infer, job, packing, clips) for job in jobs], jobs)

    def strongest(
        self, embedded: torch.Tensor, convolutions: Sequence[Convolution], memo: Derived[Any]
    ) -> torch.Tensor:
        if embedded.requires_grad:
            return super().strongest(embedded, convolutions, memo)
        return torch.cat([strongest_of(each, embedded) for each in convolutions], dim=1)

    def infer(self, job: LstmJob, packing: Packing, clips: Clips) -> LstmResult:
        """Run one job without gradients."""
        return infer(job, packing, clips, _products_of(job))


def _products_of(job: LstmJob) -> products.Products:
    weights, precision = job.weights, job.precision
    if weights.recurrent.dtype != torch.float32:
        if precision != FLOAT32:
            raise OptionsError(
                f"precision {precision!r} was asked for, but the weights are {weights.recurrent.dtype}, expected "
                "torch.float32, which it starts from. Leave one of the two out."
            )
        return products.plain_products(weights)
    if job.memo is None and precision == FLOAT32:
        return products.plain_products(weights)
    return job.prepared(partial(products.prepare, weights, precision), precision)


def side_by_side(tasks: Sequence[Callable[[], Any]], jobs: Sequence[LstmJob]) -> List[Any]:
    """Run the tasks of two directions on two threads where that pays, else one after the other."""
    work = sum(job.inputs.shape[0] * job.weights.input.numel() for job in jobs)
    if len(tasks) == 2 and work >= MIN_SIDE_BY_SIDE:
        return list(run_both(tasks[0], tasks[1]))
    return [task() for task in tasks]
