"""The backend itself: checks what it is given, and runs it with gradients or without."""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from elmo_plugin.engine.backends.base import Backend, Clips, Convolution, LstmJob, LstmResult, LstmWeights
from elmo_plugin.engine.backends.cuda.memory import LayerShape
from elmo_plugin.engine.backends.cuda.precision import check_dtypes, exact_products
from elmo_plugin.engine.backends.cuda.runtime import Runtime
from elmo_plugin.engine.backends.cuda.training import Plan, train
from elmo_plugin.engine.backends.flat_jobs import need_gradients
from elmo_plugin.engine.errors import DeviceMemoryError, ShapeError
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.packing import Packing

#: shared by all models: memory is bounded for the process, and a model stays a plain thing to copy and to save
runtime = Runtime()


class CudaBackend(Backend):
    """Graphs and Triton kernels on NVIDIA GPUs. Registered under "cuda"."""

    name = "cuda"

    def unavailable_reason(self) -> Optional[str]:
        if torch.cuda.is_available():
            return None
        if torch.version.cuda is None and torch.version.hip is None:
            return "this PyTorch is built without CUDA"
        return "no CUDA device"

    def supports(self, device: torch.device) -> bool:
        return device.type == "cuda"

    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        return run(runtime, jobs, packing, clips)

    def strongest(
        self, embedded: torch.Tensor, convolutions: Sequence[Convolution], memo: Derived[Any]
    ) -> torch.Tensor:
        try:
            return super().strongest(embedded, convolutions, memo)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            words, characters, _ = embedded.shape
            raise DeviceMemoryError(
                f"backend 'cuda': out of memory in the character CNN of {words} distinct words with up to {characters} "
                f"characters ({error}). Use smaller batches; release() of elmo_plugin.engine.backends.cuda gives back "
                "what earlier calls left."
            ) from error


def run(shared: Runtime, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
    """
    Run jobs on the device that they are on.

    # Parameters

    shared : what outlives the call.
    jobs, packing, clips : as for `Backend.run`.

    # Raises

    `ShapeError` where dtypes differ or cannot be computed in. `DeviceMemoryError` where memory does not suffice.
    """
    results: List[LstmResult] = []
    trains = need_gradients(jobs)
    for group in _of_one_shape(jobs):
        results += _run_group(shared, group, packing, clips, trains)
    return results


def _run_group(
    shared: Runtime, jobs: Sequence[LstmJob], packing: Packing, clips: Clips, trains: bool
) -> List[LstmResult]:
    device = jobs[0].inputs.device
    jobs = [replace(job, weights=_contiguous(job.weights)) for job in jobs]
    local = shared.on(device)
    guarded = partial(_guarded, packing=packing, shared=shared)
    with ExitStack() as stack:
        stack.enter_context(exact_products(device))
        if device.type == "cuda":  # Triton launches on the current device
            stack.enter_context(torch.cuda.device(device))
        if trains:
            reverses = tuple(job.reverse for job in jobs)
            plan = Plan(packing, clips, reverses, local.steps(jobs[0].inputs.dtype), local.lanes, guarded)
            return guarded(partial(train, jobs, plan))
        with torch.no_grad():
            if not packing.rows:
                return [LstmResult(job.hidden[:0], job.hidden.clone(), job.cell.clone()) for job in jobs]
            return guarded(partial(local.infer, jobs, packing, clips))


def _of_one_shape(jobs: Sequence[LstmJob]) -> List[List[LstmJob]]:
    """Cut the jobs into groups of the same sizes, in their order; nearly always that is one group."""
    groups: List[List[LstmJob]] = []
    for job in jobs:
        _check(job)
        if groups and LayerShape.of(groups[-1][0].weights) == LayerShape.of(job.weights):
            groups[-1].append(job)
        else:
            groups.append([job])
    return groups


def _check(job: LstmJob) -> None:
    weights = job.weights
    named: Dict[str, torch.Tensor] = {
        "inputs": job.inputs,
        "hidden": job.hidden,
        "cell": job.cell,
        "input weight": weights.input,
        "recurrent weight": weights.recurrent,
        "bias": weights.bias,
    }
    if weights.projection is not None:
        named["projection"] = weights.projection
    check_dtypes(named)
    devices = {name: tensor.device for name, tensor in named.items()}
    if len(set(devices.values())) > 1:
        raise ShapeError(f"backend 'cuda': tensors of one layer are on {devices}, expected one device for all.")


def _contiguous(weights: LstmWeights) -> LstmWeights:
    projection = None if weights.projection is None else weights.projection.contiguous()
    return LstmWeights(weights.input, weights.recurrent.contiguous(), weights.bias, projection)


def _guarded(task: Callable[[], Any], packing: Packing, shared: Runtime) -> Any:
    """Run a task; where the GPU's memory does not suffice, say what was asked of it and what can be done."""
    try:
        return task()
    except RuntimeError as error:
        if not _is_out_of_memory(error):
            raise
        settings = shared.settings
        raise DeviceMemoryError(
            f"backend 'cuda': out of memory with {packing.rows} rows and {packing.tokens} tokens, the longest row "
            f"{packing.steps} ({error}). Use smaller batches, or configure(block_tokens=..., max_graphs=...) of "
            f"elmo_plugin.engine.backends.cuda with less than the present {settings.block_tokens} and "
            f"{settings.max_graphs}; release() gives back what earlier calls left."
        ) from error


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Whether PyTorch's allocator says so, the driver, or cuBLAS, which cannot make its handle in a full memory."""
    kind = getattr(torch.cuda, "OutOfMemoryError", None)  # torch >= 1.13
    if kind is not None and isinstance(error, kind):
        return True
    return any(words in str(error) for words in ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED"))
