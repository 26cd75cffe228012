"""Random work for backends, and what they make of it."""

from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence

import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import FLOAT32, Backend, Clips, LstmJob, LstmWeights
from elmo_plugin.engine.errors import BackendUnavailableError
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.packing import Packing

#: bounds that few values, and that most values, run into
LOOSE, TIGHT, NONE = Clips(3.0, 3.0), Clips(0.3, 0.1), Clips(None, None)

PARTS = ("inputs", "hidden", "cell", "input", "recurrent", "bias", "projection")


def can_run(name: str) -> bool:
    """For tests that hypothesis drives, which cannot use `require_backend`; another test of the same file does."""
    try:
        backends.get(name)
    except BackendUnavailableError:
        return False
    return True


def device_for(backend: Backend) -> torch.device:
    """The CPU where the backend can work there, else the GPU."""
    return next(device for device in map(torch.device, ("cpu", "cuda")) if backend.supports(device))


def random_jobs(
    lengths: Sequence[int],
    cells: int = 7,
    projection: Optional[int] = 4,
    inputs: int = 5,
    reverses: Sequence[bool] = (False, True),
    seed: int = 0,
) -> List[Dict[str, Any]]:
    """
    Draw one job per direction; float64 values that float32 can hold.

    # Parameters

    projection : None for a layer without projection.

    # Returns

    The fields of `LstmJob` and `LstmWeights` side by side, and `reverse`.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens, rows = sum(lengths), sum(length > 0 for length in lengths)
    outputs = cells if projection is None else projection

    def draw(*shape: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(shape, generator=generator) * scale).double()

    return [
        {
            "inputs": draw(tokens, inputs),
            "hidden": draw(rows, outputs, scale=0.5),
            "cell": draw(rows, cells),
            "input": draw(4 * cells, inputs, scale=inputs**-0.5),
            "recurrent": draw(4 * cells, outputs, scale=outputs**-0.5),
            "bias": draw(4 * cells, scale=0.5),
            "projection": None if projection is None else draw(projection, cells, scale=2 * cells**-0.5),
            "reverse": reverse,
        }
        for reverse in reverses
    ]


def run(
    backend: Backend,
    jobs: Sequence[Dict[str, Any]],
    lengths: Sequence[int],
    clips: Clips,
    dtype: torch.dtype = torch.float64,
    trained: Sequence[str] = PARTS,
) -> Dict[str, torch.Tensor]:
    """
    Run jobs forward and, where something is trained, backward from random gradients of all results.

    # Returns

    Results and gradients by name, with the number of the job in front.
    """
    device = device_for(backend)
    # copies, so that no two runs add their gradients up in one tensor
    leaves = [
        {
            part: None
            if job[part] is None
            else job[part].detach().to(device, dtype, copy=True).requires_grad_(part in trained)
            for part in PARTS
        }
        for job in jobs
    ]
    results = backend.run(
        [as_job(leaf, job["reverse"]) for leaf, job in zip(leaves, jobs)], Packing(lengths, device), clips
    )
    found: Dict[str, torch.Tensor] = {}
    for index, result in enumerate(results):
        for name in ("outputs", "hidden", "cell"):
            found[f"{index} {name}"] = getattr(result, name)
    if trained:
        generator = torch.Generator().manual_seed(1)
        arriving = [torch.randn(value.shape, generator=generator).to(value) for value in found.values()]
        pairs = [(value, grad) for value, grad in zip(found.values(), arriving) if value.requires_grad]
        torch.autograd.backward([value for value, _ in pairs], [grad for _, grad in pairs])
        for index, leaf in enumerate(leaves):
            for part in trained:
                if leaf[part] is not None:  # no gradient at all is as good as zeros
                    grad = torch.zeros_like(leaf[part]) if leaf[part].grad is None else leaf[part].grad
                    found[f"{index} gradient of {part}"] = grad
    return found


def as_job(leaf: Dict[str, Any], reverse: bool) -> LstmJob:
    weights = LstmWeights(leaf["input"], leaf["recurrent"], leaf["bias"], leaf["projection"])
    return LstmJob(leaf["inputs"], leaf["hidden"], leaf["cell"], weights, reverse)


def one_job(
    lengths: Sequence[int],
    memo: Optional[Derived[Any]] = None,
    precision: str = FLOAT32,
    dtype: torch.dtype = torch.float32,
    cells: int = 30,
    projection: Optional[int] = 12,
) -> LstmJob:
    """One drawn job that goes backward."""
    (drawn,) = random_jobs(lengths, cells=cells, projection=projection, inputs=9, reverses=[True])
    made = as_job({part: None if drawn[part] is None else drawn[part].to(dtype) for part in PARTS}, drawn["reverse"])
    return replace(made, memo=memo, precision=precision)


def all_of(job: LstmJob, lengths: Sequence[int], name: str) -> torch.Tensor:
    """All that a backend makes of a job, as one row of numbers."""
    (result,) = backends.get(name).run([job], Packing(lengths, torch.device("cpu")), LOOSE)
    return torch.cat([result.outputs.flatten(), result.hidden.flatten(), result.cell.flatten()])


def reference(jobs: Sequence[Dict[str, Any]], lengths: Sequence[int], clips: Clips, **others: Any) -> Dict[str, Any]:
    return run(backends.get("reference"), jobs, lengths, clips, **others)
