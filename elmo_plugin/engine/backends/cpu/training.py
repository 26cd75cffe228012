"""
A layer in all its directions with gradients: one autograd node, whose backward pass is written by hand. Each weight
gradient is one product over all steps.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.backends.base import LstmJob, LstmResult
from elmo_plugin.engine.backends.flat_jobs import (
    TENSORS_PER_JOB,
    TENSORS_PER_RESULT,
    Call,
    gradients_by_autograd,
    jobs_from,
)
from elmo_plugin.engine.backends.gates import activate_, clip_, gates_backward_


@dataclass(frozen=True)
class Plan(Call):
    """
    A call on this backend.

    # Parameters

    side_by_side : runs one task for each job, and returns what they return.
    """

    side_by_side: Callable[[Sequence[Callable[[], Any]], Sequence[LstmJob]], List[Any]]


@dataclass
class _Tape:
    """What the backward pass of one job needs; everything packed as the job's inputs."""

    gates: torch.Tensor  # (tokens, 4 cells), after their functions
    previous_hidden: torch.Tensor  # (tokens, projection)
    previous_cell: torch.Tensor  # (tokens, cells)
    cell: torch.Tensor  # (tokens, cells), clipped
    outputs: torch.Tensor  # (tokens, projection), clipped

    def tensors(self) -> List[torch.Tensor]:
        return [self.gates, self.previous_hidden, self.previous_cell, self.cell, self.outputs]


_TENSORS_PER_TAPE = 5


class LstmLayer(torch.autograd.Function):
    """All directions of one layer as one autograd node."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *tensors: Optional[torch.Tensor]) -> Tuple[torch.Tensor, ...]:
        jobs = jobs_from(tensors, plan.reverses)
        recorded = plan.side_by_side([partial(_record, job, plan) for job in jobs], jobs)
        ctx.plan = plan
        tapes = [tensor for _, tape in recorded for tensor in tape.tensors()]
        ctx.save_for_backward(*tensors, *tapes)
        return tuple(t for result, _ in recorded for t in (result.outputs, result.hidden, result.cell))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        plan: Plan = ctx.plan
        saved = ctx.saved_tensors
        tensors, tapes = saved[: plan.n_tensors], saved[plan.n_tensors :]
        if torch.is_grad_enabled():  # create_graph: the gradients are to be differentiated again
            return (None,) + gradients_by_autograd(plan, tensors, ctx.needs_input_grad[1:], grads)
        jobs = jobs_from(tensors, plan.reverses)
        tasks = []
        for index, job in enumerate(jobs):
            tape = _Tape(*tapes[index * _TENSORS_PER_TAPE : (index + 1) * _TENSORS_PER_TAPE])
            start = 1 + index * TENSORS_PER_JOB
            needed = ctx.needs_input_grad[start : start + TENSORS_PER_JOB]
            arriving = grads[index * TENSORS_PER_RESULT : (index + 1) * TENSORS_PER_RESULT]
            tasks.append(partial(_backward, job, plan, tape, arriving, needed))
        # Where the caller goes back inside autocast: the products here are of the dtype that went forward.
        with torch.autocast("cpu", enabled=False):
            gradients = plan.side_by_side(tasks, jobs)
        return (None,) + tuple(value for of_job in gradients for value in of_job)


def _record(job: LstmJob, plan: Plan) -> Tuple[LstmResult, _Tape]:
    """Run a job forward and keep what its backward pass needs."""
    packing, clips, weights = plan.packing, plan.clips, job.weights
    cells = job.cell.shape[1]
    recurrent = weights.recurrent.t()
    hidden, cell = job.hidden.clone(), job.cell.clone()
    gates = torch.addmm(weights.bias, job.inputs, weights.input.t())
    new = job.inputs.new_empty
    tape = _Tape(
        gates=gates,
        previous_hidden=new((packing.tokens, hidden.shape[1])),
        previous_cell=new((packing.tokens, cells)),
        cell=new((packing.tokens, cells)),
        outputs=new((packing.tokens, hidden.shape[1])),
    )
    for step in packing.order_of_steps(job.reverse):
        running = packing.sizes[step]
        place = packing.block(step)
        tape.previous_hidden[place] = hidden[:running]
        tape.previous_cell[place] = cell[:running]
        gates[place].addmm_(hidden[:running], recurrent)
        i, f, g, o = activate_(gates[place], cells)
        c = torch.mul(f, cell[:running], out=tape.cell[place])
        clip_(c.addcmul_(i, g), clips.cell)
        h = o * torch.tanh(c)
        if weights.projection is not None:
            h = clip_(torch.mm(h, weights.projection.t()), clips.projection)
        tape.outputs[place] = h
        hidden[:running] = h
        cell[:running] = c
    return LstmResult(outputs=tape.outputs, hidden=hidden, cell=cell), tape


def _backward(
    job: LstmJob,
    plan: Plan,
    tape: _Tape,
    arriving: Sequence[torch.Tensor],
    needed: Sequence[bool],
) -> List[Optional[torch.Tensor]]:
    """
    Go back through one job; return gradients in the order of `flat_jobs.tensors_of`.

    A value that was clipped passes no gradient. One that equals the bound is taken as clipped, where autograd
    would pass the gradient of a value that hit the bound exactly by itself.
    """
    packing, clips, weights = plan.packing, plan.clips, job.weights
    cells = job.cell.shape[1]
    d_outputs, d_hidden_last, d_cell_last = arriving
    d_hidden, d_cell = d_hidden_last.clone(), d_cell_last.clone()
    d_gates = torch.empty_like(tape.gates)
    squashed = torch.tanh(tape.cell)  # (tokens, cells)
    projects = weights.projection is not None
    d_projected = torch.empty_like(tape.outputs) if projects else None
    for step in packing.order_of_steps(not job.reverse):
        running = packing.sizes[step]
        place = packing.block(step)
        d_h = d_hidden[:running] + d_outputs[place]
        if d_projected is not None:
            if clips.projection is not None:
                d_h.mul_(tape.outputs[place].abs() < clips.projection)
            d_projected[place] = d_h
            d_h = torch.mm(d_h, weights.projection)  # type: ignore[arg-type]
        gates_backward_(
            d_h,
            tape.gates[place].split(cells, dim=1),
            tape.previous_cell[place],
            squashed[place],
            d_cell[:running],
            d_gates[place].split(cells, dim=1),
            passes=None if clips.cell is None else tape.cell[place].abs() < clips.cell,
        )
        torch.mm(d_gates[place], weights.recurrent, out=d_hidden[:running])

    def product(index: int, left: torch.Tensor, right: torch.Tensor) -> Optional[torch.Tensor]:
        return torch.mm(left, right) if needed[index] else None

    d_projection = None
    if d_projected is not None and needed[6]:
        emitted = squashed.mul_(tape.gates[:, 3 * cells :])  # what was projected
        d_projection = torch.mm(d_projected.t(), emitted)
    return [
        product(0, d_gates, weights.input),
        d_hidden if needed[1] else None,
        d_cell if needed[2] else None,
        product(3, d_gates.t(), job.inputs),
        product(4, d_gates.t(), tape.previous_hidden),
        d_gates.sum(0) if needed[5] else None,
        d_projection,
    ]
