"""
Forward with gradients: one node of the graph for a whole layer, with a backward pass written by hand.

The steps are launched one by one, since what they record is as long as the text and belongs to the caller. Each weight
gradient is one product over all steps.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np
import torch

from elmo_plugin.engine.backends.base import LstmJob, LstmResult
from elmo_plugin.engine.backends.cuda.lanes import Lanes
from elmo_plugin.engine.backends.cuda.memory import LayerShape, Memory
from elmo_plugin.engine.backends.cuda.precision import exact_products
from elmo_plugin.engine.backends.cuda.schedule import span
from elmo_plugin.engine.backends.cuda.steps import Steps
from elmo_plugin.engine.backends.flat_jobs import (
    TENSORS_PER_JOB,
    TENSORS_PER_RESULT,
    Call,
    gradients_by_autograd,
    jobs_from,
    results_from,
    tensors_of,
)
from elmo_plugin.engine.packing import Packing


@dataclass(frozen=True)
class Plan(Call):
    """
    A call on this backend.

    # Parameters

    steps : how a step is computed.
    lanes : where the jobs run side by side.
    guarded : runs a task and explains where memory does not suffice.
    """

    steps: Steps
    lanes: Lanes
    guarded: Callable[[Callable[[], Any]], Any]


def train(jobs: Sequence[LstmJob], plan: Plan) -> List[LstmResult]:
    """
    Run jobs and keep what their gradients need.

    # Parameters

    jobs : of one layer, with contiguous weights, all of one shape and dtype.
    plan : the rest.
    """
    return results_from(_Layer.apply(plan, *[tensor for job in jobs for tensor in tensors_of(job)]))


@dataclass(frozen=True)
class _Tape:
    """What the backward pass of one job needs; packed as the job's inputs."""

    gates: torch.Tensor  # (tokens, 4 cells), behind their functions
    cell: torch.Tensor  # (tokens, cells), clipped
    outputs: torch.Tensor  # (tokens, width), clipped

    def tensors(self) -> List[torch.Tensor]:
        return [self.gates, self.cell, self.outputs]


_TENSORS_PER_TAPE = 3


class _Layer(torch.autograd.Function):
    """All directions of one layer."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *tensors: Optional[torch.Tensor]) -> Tuple[torch.Tensor, ...]:
        jobs = jobs_from(tensors, plan.reverses)
        recorded = [_Recording(job, plan) for job in jobs]
        plan.lanes.run([recording.run for recording in recorded])
        ctx.plan = plan
        ctx.save_for_backward(*tensors, *[tensor for recording in recorded for tensor in recording.tape().tensors()])
        return tuple(tensor for recording in recorded for tensor in recording.results())

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        plan: Plan = ctx.plan
        saved = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: the gradients are to be differentiated again
            return (None,) + gradients_by_autograd(plan, saved[: plan.n_tensors], ctx.needs_input_grad[1:], grads)
        return (None,) + plan.guarded(partial(_backward, plan, saved, ctx.needs_input_grad[1:], grads))


class _Recording:
    """One job forward."""

    def __init__(self, job: LstmJob, plan: Plan) -> None:
        self._job = job
        self._plan = plan
        packing, weights = plan.packing, job.weights
        shape = LayerShape.of(weights)
        self._span = span(packing, job.reverse, 0, packing.steps)
        device = job.inputs.device
        # Everything is made here, on the stream on which it will be given back.
        self._memory = Memory(
            shape=shape,
            inputs=torch.addmm(weights.bias, job.inputs, weights.input.t()),
            hidden=job.hidden.clone(memory_format=torch.contiguous_format),
            cell=job.cell.to(shape.cell_dtype, copy=True, memory_format=torch.contiguous_format),
            outputs=job.inputs.new_empty((packing.tokens, shape.width)),
            schedule=self._span.table().to(device, non_blocking=True),
            scratch=plan.steps.scratch(shape, packing.rows, device),
            recorded_cell=job.inputs.new_empty((packing.tokens, shape.cells), dtype=shape.cell_dtype),
        )

    def run(self) -> None:
        for index, rows in enumerate(self._span.sizes):
            self._plan.steps.forward(self._memory, self._job.weights, self._plan.clips, index, rows, self._span)

    def tape(self) -> _Tape:
        assert self._memory.recorded_cell is not None
        return _Tape(self._memory.inputs, self._memory.recorded_cell, self._memory.outputs)

    def results(self) -> List[torch.Tensor]:
        memory = self._memory
        return [memory.outputs, memory.hidden, memory.cell.to(memory.shape.dtype)]


def _backward(
    plan: Plan,
    saved: Sequence[Optional[torch.Tensor]],
    needed: Sequence[bool],
    grads: Sequence[torch.Tensor],
) -> Tuple[Optional[torch.Tensor], ...]:
    going_back = []
    for index, job in enumerate(jobs_from(saved[: plan.n_tensors], plan.reverses)):
        first = plan.n_tensors + index * _TENSORS_PER_TAPE
        tape = _Tape(*saved[first : first + _TENSORS_PER_TAPE])  # type: ignore[arg-type]
        going_back.append(
            _GoingBack(job, plan, tape, grads[index * TENSORS_PER_RESULT : (index + 1) * TENSORS_PER_RESULT])
        )
    # Where the caller goes back inside autocast: the products here are of the dtype that went forward.
    with exact_products(going_back[0].device):
        plan.lanes.run([one.run for one in going_back])
        gradients: List[Optional[torch.Tensor]] = []
        for index, one in enumerate(going_back):
            gradients += one.gradients(needed[index * TENSORS_PER_JOB : (index + 1) * TENSORS_PER_JOB])
    return tuple(gradients)


class _GoingBack:
    """
    One job backward.

    A value that was clipped passes no gradient. One that equals the bound is taken as clipped.
    """

    def __init__(self, job: LstmJob, plan: Plan, tape: _Tape, arriving: Sequence[torch.Tensor]) -> None:
        self._job = job
        self._plan = plan
        self._tape = tape
        self.device = job.inputs.device
        packing, weights = plan.packing, job.weights
        self._span = span(packing, job.reverse, 0, packing.steps)
        d_outputs, d_hidden, d_cell = arriving
        self._d_outputs = d_outputs.contiguous()
        self._d_hidden = d_hidden.clone(memory_format=torch.contiguous_format)
        self._d_cell = d_cell.to(tape.cell.dtype, copy=True, memory_format=torch.contiguous_format)
        self._d_gates = torch.empty_like(tape.gates)
        self._d_projected = torch.empty_like(tape.outputs)
        self._d_emitted = None if weights.projection is None else job.inputs.new_empty(job.cell.shape)
        self._previous = previous_places(packing, job.reverse).to(self.device, non_blocking=True)
        self._previous_cell = self._in_front_of(tape.cell, job.cell)

    def _in_front_of(self, recorded: torch.Tensor, initial: torch.Tensor) -> torch.Tensor:
        """The state that each token started from."""
        return torch.cat([recorded, initial.to(recorded.dtype)]).index_select(0, self._previous)

    def run(self) -> None:
        steps, clips, weights = self._plan.steps, self._plan.clips, self._job.weights
        bound = None if weights.projection is None else self._rounded(clips.projection)
        for offset, rows in reversed(list(zip(self._span.offsets, self._span.sizes))):
            place = slice(offset, offset + rows)
            d_projected = self._d_projected[place]
            steps.output_gradient(
                self._d_hidden[:rows], self._d_outputs[place], self._tape.outputs[place], bound, d_projected
            )
            if weights.projection is None or self._d_emitted is None:
                d_emitted = d_projected
            else:
                d_emitted = torch.mm(d_projected, weights.projection, out=self._d_emitted[:rows])
            d_gates = self._d_gates[place]
            steps.gate_gradients(
                d_emitted,
                self._tape.gates[place],
                self._previous_cell[place],
                self._tape.cell[place],
                self._d_cell[:rows],
                clips.cell,
                d_gates,
            )
            torch.mm(d_gates, weights.recurrent, out=self._d_hidden[:rows])

    def _rounded(self, bound: Optional[float]) -> Optional[float]:
        """A bound as the outputs hold it: 0.1 is less in float16, and what was clipped to that counts as clipped."""
        return None if bound is None else float(torch.tensor(bound, dtype=self._tape.outputs.dtype))

    def gradients(self, needed: Sequence[bool]) -> List[Optional[torch.Tensor]]:
        """In the order of `tensors_of`; None where it is not needed."""
        job, d_gates = self._job, self._d_gates
        cells = job.cell.shape[1]

        def product(index: int, left: torch.Tensor, right: torch.Tensor) -> Optional[torch.Tensor]:
            return torch.mm(left, right) if needed[index] else None

        d_recurrent = d_bias = d_projection = None
        if needed[4]:
            d_recurrent = torch.mm(d_gates.t(), self._in_front_of(self._tape.outputs, job.hidden))
        if needed[5]:
            d_bias = d_gates.sum(0, dtype=self._tape.cell.dtype).to(d_gates.dtype)
        if needed[6]:
            emitted = torch.tanh(self._tape.cell).mul_(self._tape.gates[:, 3 * cells :])  # what was projected
            d_projection = torch.mm(self._d_projected.t(), emitted.to(d_gates.dtype))
        return [
            product(0, d_gates, job.weights.input),
            self._d_hidden if needed[1] else None,
            self._d_cell.to(job.cell.dtype) if needed[2] else None,
            product(3, d_gates.t(), job.inputs),
            d_recurrent,
            d_bias,
            d_projection,
        ]


def previous_places(packing: Packing, reverse: bool) -> torch.Tensor:
    """
    Where each token's state comes from.

    # Returns

    `(tokens,)` int64: the packed token that was processed before it in its row; behind all tokens the rows, for those
    that start from the initial state.
    """
    sizes, offsets = np.asarray(packing.sizes, dtype=np.int64), np.asarray(packing.offsets, dtype=np.int64)
    step = np.repeat(np.arange(packing.steps), sizes)
    rank = np.arange(packing.tokens) - offsets[step]
    before = step + 1 if reverse else step - 1
    # In front of the first step, and behind the last one, no row was running.
    running = np.concatenate([sizes, [0]])[before]
    return torch.from_numpy(np.where(rank < running, offsets[before] + rank, packing.tokens + rank))
