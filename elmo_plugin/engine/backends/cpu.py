"""
The LSTM stack for CPUs in plain PyTorch: no work on padding, one product for the inputs of many steps, no autograd
graph per step.

Without gradients the input product is made for blocks of steps, so that the memory does not grow with the length of
the text. With gradients one autograd node holds a whole layer in both directions; its backward pass is written by
hand, and each weight gradient is one product over all steps.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.backends.base import Backend, Clips, LstmJob, LstmResult, LstmWeights
from elmo_plugin.engine.backends.reference import ReferenceBackend
from elmo_plugin.engine.backends.two_threads import run_both
from elmo_plugin.engine.packing import Packing

# Tokens whose input products are made at once when no gradient is needed: enough for products at full speed,
# 64 MiB of gates for 4096 cells.
BLOCK_TOKENS = 1024

# Below this many multiplications a second thread costs more than it gives.
MIN_SIDE_BY_SIDE = 5_000_000


class CpuBackend(Backend):
    """Packed products on CPU. Registered under "cpu"."""

    name = "cpu"

    def unavailable_reason(self) -> Optional[str]:
        return None

    def supports(self, device: torch.device) -> bool:
        return device.type == "cpu"

    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        tensors = [tensor for job in jobs for tensor in _tensors_of(job)]
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
            plan = _Plan(packing, clips, tuple(job.reverse for job in jobs))
            flat = _LstmLayer.apply(plan, *tensors)
            return [LstmResult(*flat[start : start + 3]) for start in range(0, len(flat), 3)]
        with torch.no_grad():
            return _side_by_side([partial(_infer, job, packing, clips) for job in jobs], jobs)


def _tensors_of(job: LstmJob) -> Tuple[Optional[torch.Tensor], ...]:
    weights = job.weights
    return (
        job.inputs,
        job.hidden,
        job.cell,
        weights.input,
        weights.recurrent,
        weights.bias,
        weights.projection,
    )


_TENSORS_PER_JOB = 7


def _jobs_from(tensors: Sequence[Optional[torch.Tensor]], reverses: Sequence[bool]) -> List[LstmJob]:
    jobs = []
    for index, reverse in enumerate(reverses):
        start = index * _TENSORS_PER_JOB
        inputs, hidden, cell, *weights = tensors[start : start + _TENSORS_PER_JOB]
        jobs.append(LstmJob(inputs, hidden, cell, LstmWeights(*weights), reverse))  # type: ignore[arg-type]
    return jobs


def _order_of_steps(packing: Packing, reverse: bool) -> Iterator[int]:
    steps = range(packing.steps)
    return iter(reversed(steps)) if reverse else iter(steps)


def _blocks_of_steps(packing: Packing, reverse: bool) -> Iterator[List[int]]:
    """Cut the steps, in the order in which they are processed, into blocks of about `BLOCK_TOKENS` tokens."""
    block: List[int] = []
    tokens = 0
    for step in _order_of_steps(packing, reverse):
        if block and tokens + packing.sizes[step] > BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
        block.append(step)
        tokens += packing.sizes[step]
    if block:
        yield block


def _activate(gates: torch.Tensor, cells: int) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Apply the gates' functions in place to `(rows, 4 cells)` and return the views i, f, g, o."""
    gates[:, : 2 * cells].sigmoid_()
    gates[:, 2 * cells : 3 * cells].tanh_()
    gates[:, 3 * cells :].sigmoid_()
    i, f, g, o = gates.split(cells, dim=1)
    return i, f, g, o


def _clip_(x: torch.Tensor, bound: Optional[float]) -> torch.Tensor:
    return x if bound is None else x.clamp_(-bound, bound)


def _infer(job: LstmJob, packing: Packing, clips: Clips) -> LstmResult:
    weights = job.weights
    cells = job.cell.shape[1]
    recurrent = weights.recurrent.t()
    projection = None if weights.projection is None else weights.projection.t()
    hidden, cell = job.hidden.clone(), job.cell.clone()
    outputs = job.inputs.new_empty((packing.tokens, job.hidden.shape[1]))
    for block in _blocks_of_steps(packing, job.reverse):
        first, last = min(block), max(block)
        start = packing.offsets[first]
        products = torch.addmm(
            weights.bias, job.inputs[start : packing.offsets[last + 1]], weights.input.t()
        )  # (tokens of the block, 4 cells)
        for step in block:
            running = packing.sizes[step]
            place = packing.block(step)
            gates = products[place.start - start : place.stop - start]
            gates.addmm_(hidden[:running], recurrent)
            i, f, g, o = _activate(gates, cells)
            c = cell[:running]
            _clip_(c.mul_(f).addcmul_(i, g), clips.cell)
            h = o.mul_(torch.tanh(c))
            if projection is not None:
                h = _clip_(torch.mm(h, projection, out=outputs[place]), clips.projection)
            else:
                outputs[place] = h
            hidden[:running] = h
    return LstmResult(outputs=outputs, hidden=hidden, cell=cell)


@dataclass(frozen=True)
class _Plan:
    packing: Packing
    clips: Clips
    reverses: Tuple[bool, ...]


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


class _LstmLayer(torch.autograd.Function):
    """All directions of one layer as one autograd node."""

    @staticmethod
    def forward(ctx: Any, plan: _Plan, *tensors: Optional[torch.Tensor]) -> Tuple[torch.Tensor, ...]:
        jobs = _jobs_from(tensors, plan.reverses)
        recorded = _side_by_side([partial(_record, job, plan) for job in jobs], jobs)
        ctx.plan = plan
        tapes = [tensor for _, tape in recorded for tensor in tape.tensors()]
        ctx.save_for_backward(*tensors, *tapes)
        return tuple(t for result, _ in recorded for t in (result.outputs, result.hidden, result.cell))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        plan: _Plan = ctx.plan
        saved = ctx.saved_tensors
        number = len(plan.reverses) * _TENSORS_PER_JOB
        if torch.is_grad_enabled():  # create_graph: the gradients are to be differentiated again
            return (None,) + _backward_by_autograd(plan, saved[:number], ctx.needs_input_grad[1:], grads)
        jobs, tapes = _jobs_from(saved[:number], plan.reverses), saved[number:]
        tasks = []
        for index, job in enumerate(jobs):
            tape = _Tape(*tapes[index * _TENSORS_PER_TAPE : (index + 1) * _TENSORS_PER_TAPE])
            start = 1 + index * _TENSORS_PER_JOB
            needed = ctx.needs_input_grad[start : start + _TENSORS_PER_JOB]
            arriving = grads[index * 3 : index * 3 + 3]
            tasks.append(partial(_backward, job, plan, tape, arriving, needed))
        # Where the caller goes back inside autocast: the products here are of the dtype that went forward.
        with torch.autocast("cpu", enabled=False):
            gradients = _side_by_side(tasks, jobs)
        return (None,) + tuple(value for of_job in gradients for value in of_job)


def _record(job: LstmJob, plan: _Plan) -> Tuple[LstmResult, _Tape]:
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
    for step in _order_of_steps(packing, job.reverse):
        running = packing.sizes[step]
        place = packing.block(step)
        tape.previous_hidden[place] = hidden[:running]
        tape.previous_cell[place] = cell[:running]
        gates[place].addmm_(hidden[:running], recurrent)
        i, f, g, o = _activate(gates[place], cells)
        c = torch.mul(f, cell[:running], out=tape.cell[place])
        _clip_(c.addcmul_(i, g), clips.cell)
        h = o * torch.tanh(c)
        if weights.projection is not None:
            h = _clip_(torch.mm(h, weights.projection.t()), clips.projection)
        tape.outputs[place] = h
        hidden[:running] = h
        cell[:running] = c
    return LstmResult(outputs=tape.outputs, hidden=hidden, cell=cell), tape


def _backward(
    job: LstmJob,
    plan: _Plan,
    tape: _Tape,
    arriving: Sequence[torch.Tensor],
    needed: Sequence[bool],
) -> List[Optional[torch.Tensor]]:
    """
    Go back through one job; return gradients in the order of `_tensors_of`.

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
    for step in reversed(list(_order_of_steps(packing, job.reverse))):
        running = packing.sizes[step]
        place = packing.block(step)
        d_h = d_hidden[:running] + d_outputs[place]
        if d_projected is not None:
            if clips.projection is not None:
                d_h.mul_(tape.outputs[place].abs() < clips.projection)
            d_projected[place] = d_h
            d_h = torch.mm(d_h, weights.projection)  # type: ignore[arg-type]
        i, f, g, o = tape.gates[place].split(cells, dim=1)
        d_i, d_f, d_g, d_o = d_gates[place].split(cells, dim=1)
        s = squashed[place]
        # d sigmoid(x) = y (1 - y), d tanh(x) = 1 - y ** 2
        torch.ops.aten.sigmoid_backward.grad_input(d_h * s, o, grad_input=d_o)
        d_c = torch.ops.aten.tanh_backward(d_h.mul_(o), s).add_(d_cell[:running])
        if clips.cell is not None:
            d_c.mul_(tape.cell[place].abs() < clips.cell)
        torch.ops.aten.sigmoid_backward.grad_input(d_c * g, i, grad_input=d_i)
        torch.ops.aten.sigmoid_backward.grad_input(d_c * tape.previous_cell[place], f, grad_input=d_f)
        torch.ops.aten.tanh_backward.grad_input(d_c * i, g, grad_input=d_g)
        torch.mul(d_c, f, out=d_cell[:running])
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


def _backward_by_autograd(
    plan: _Plan,
    tensors: Sequence[Optional[torch.Tensor]],
    needed: Sequence[bool],
    arriving: Sequence[torch.Tensor],
) -> Tuple[Optional[torch.Tensor], ...]:
    """The gradients of all jobs by way of the reference, whose every operation autograd knows."""
    results = ReferenceBackend().run(_jobs_from(tensors, plan.reverses), plan.packing, plan.clips)
    made = [tensor for result in results for tensor in (result.outputs, result.hidden, result.cell)]
    pairs = [(tensor, grad) for tensor, grad in zip(made, arriving) if tensor.requires_grad]
    if not pairs:  # no token, so that nothing depends on anything
        return (None,) * len(needed)
    wanted = [tensor for tensor, is_needed in zip(tensors, needed) if is_needed and tensor is not None]
    gradients = iter(
        torch.autograd.grad(
            [tensor for tensor, _ in pairs], wanted, [grad for _, grad in pairs], create_graph=True, allow_unused=True
        )
    )
    return tuple(next(gradients) if is_needed else None for is_needed in needed)


def _side_by_side(tasks: Sequence[Callable[[], Any]], jobs: Sequence[LstmJob]) -> List[Any]:
    """Run the tasks of two directions on two threads where that pays, else one after the other."""
    work = sum(job.inputs.shape[0] * job.weights.input.numel() for job in jobs)
    if len(tasks) == 2 and work >= MIN_SIDE_BY_SIDE:
        return list(run_both(tasks[0], tasks[1]))
    return [task() for task in tasks]
