"""Jobs as a row of tensors, which is what an autograd function takes, and gradients of gradients for any of them."""

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.backends.base import Clips, LstmJob, LstmResult, LstmWeights
from elmo_plugin.engine.backends.reference import ReferenceBackend
from elmo_plugin.engine.packing import Packing

TENSORS_PER_JOB = 7
TENSORS_PER_RESULT = 3


@dataclass(frozen=True)
class Call:
    """
    What of a call is no tensor.

    # Parameters

    packing, clips : of the call.
    reverses : for each job, whether it goes backward.
    """

    packing: Packing
    clips: Clips
    reverses: Tuple[bool, ...]

    @property
    def n_tensors(self) -> int:
        """Number of the tensors of all jobs."""
        return len(self.reverses) * TENSORS_PER_JOB


def tensors_of(job: LstmJob) -> Tuple[Optional[torch.Tensor], ...]:
    """The tensors of a job: inputs, states, weights."""
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


def jobs_from(tensors: Sequence[Optional[torch.Tensor]], reverses: Sequence[bool]) -> List[LstmJob]:
    """The jobs whose tensors these are, one after the other."""
    jobs = []
    for index, reverse in enumerate(reverses):
        start = index * TENSORS_PER_JOB
        inputs, hidden, cell, *weights = tensors[start : start + TENSORS_PER_JOB]
        jobs.append(LstmJob(inputs, hidden, cell, LstmWeights(*weights), reverse))  # type: ignore[arg-type]
    return jobs


def need_gradients(jobs: Sequence[LstmJob]) -> bool:
    """Whether what the jobs give is to be differentiated."""
    tensors = (tensor for job in jobs for tensor in tensors_of(job))
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def results_from(tensors: Sequence[torch.Tensor]) -> List[LstmResult]:
    """The results whose tensors these are, one after the other."""
    return [LstmResult(*tensors[at : at + TENSORS_PER_RESULT]) for at in range(0, len(tensors), TENSORS_PER_RESULT)]


def gradients_by_autograd(
    call: Call,
    tensors: Sequence[Optional[torch.Tensor]],
    needed: Sequence[bool],
    arriving: Sequence[torch.Tensor],
) -> Tuple[Optional[torch.Tensor], ...]:
    """
    Return gradients that can be differentiated again: by way of the reference, whose operations autograd knows.

    # Parameters

    call : the rest of it.
    tensors : of all jobs.
    needed : for each tensor, whether its gradient is asked for.
    arriving : gradients of outputs, hidden and cell of each job.
    """
    results = ReferenceBackend().run(jobs_from(tensors, call.reverses), call.packing, call.clips)
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
