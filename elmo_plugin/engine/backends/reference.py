"""
The equations of the LSTM written out: the oracle of every other backend, forward and backward.

Works in every floating dtype and on every device. Gradients come from autograd.
"""

from typing import List, Optional, Sequence

import torch

from elmo_plugin.engine.backends.base import Backend, Clips, LstmJob, LstmResult
from elmo_plugin.engine.packing import Packing


class ReferenceBackend(Backend):
    """One step after the other, one operation after the other. Registered under "reference"."""

    name = "reference"

    def unavailable_reason(self) -> Optional[str]:
        return None

    def supports(self, device: torch.device) -> bool:
        return True

    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        return [_run(job, packing, clips) for job in jobs]


def _run(job: LstmJob, packing: Packing, clips: Clips) -> LstmResult:
    weights = job.weights
    hidden, cell = job.hidden, job.cell
    outputs: List[torch.Tensor] = [hidden[:0]] * packing.steps
    for step in packing.order_of_steps(job.reverse):
        running = packing.sizes[step]
        x = job.inputs[packing.block(step)]
        a = x @ weights.input.t() + hidden[:running] @ weights.recurrent.t() + weights.bias
        a_i, a_f, a_g, a_o = a.chunk(4, dim=1)
        c = torch.sigmoid(a_i) * torch.tanh(a_g) + torch.sigmoid(a_f) * cell[:running]
        c = _clip(c, clips.cell)
        h = torch.sigmoid(a_o) * torch.tanh(c)
        if weights.projection is not None:
            h = _clip(h @ weights.projection.t(), clips.projection)
        outputs[step] = h
        hidden = torch.cat([h, hidden[running:]])
        cell = torch.cat([c, cell[running:]])
    packed = torch.cat(outputs) if outputs else job.hidden[:0]
    return LstmResult(outputs=packed, hidden=hidden, cell=cell)


def _clip(x: torch.Tensor, bound: Optional[float]) -> torch.Tensor:
    return x if bound is None else x.clamp(-bound, bound)
