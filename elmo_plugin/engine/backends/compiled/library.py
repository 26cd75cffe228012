"""
The compiled kernels of `kernels.cpp`: the library, weights in panels, and the calls.

The library is a plain one, called through `ctypes`, which lets other Python threads run meanwhile. Nothing is compiled
at run time.
"""

import ctypes
from abc import ABC, abstractmethod
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import accumulate
from pathlib import Path
from typing import Any, List, Optional, Sequence

import torch

from elmo_plugin.engine.backends.base import Clips, LstmWeights

#: Numbers of a panel that lie side by side, as in the library.
PANEL = 16

#: Which calls the library has and what they take: `elmo_interface` of the library.
INTERFACE = 3

_AGAIN = "Install the package again to build it anew."


class StepWeights(ABC):
    """The weights of the steps of one layer in one direction, as a kernel of the library reads them."""

    @property
    @abstractmethod
    def kernel(self) -> str:
        """The name of that kernel."""

    @abstractmethod
    def tensors(self, rows: int) -> List[Optional[torch.Tensor]]:
        """What the kernel is given for steps of at most `rows` rows: the weights, and room to work in."""


class Panels(StepWeights):
    """
    Weights in float32 or float16, the outputs 16 by 16, each group transposed.

    # Parameters

    weights : of one layer in one direction.
    dtype : of the panels.
    """

    def __init__(self, weights: LstmWeights, dtype: torch.dtype) -> None:
        self._recurrent = in_panels(weights.recurrent, dtype)
        self._projection = None if weights.projection is None else in_panels(weights.projection, dtype)

    @property
    def kernel(self) -> str:
        return "elmo_steps_float16" if self._recurrent.dtype == torch.float16 else "elmo_steps_float32"

    def tensors(self, rows: int) -> List[Optional[torch.Tensor]]:
        return [self._recurrent, self._projection]


class Plain(StepWeights):
    """
    Float32 weights as they are, for steps of a single row.

    # Parameters

    weights : of one layer in one direction, contiguous.
    """

    kernel = "elmo_steps_single"

    def __init__(self, weights: LstmWeights) -> None:
        self._weights = [weights.recurrent, weights.projection]
        assert all(weight is None or weight.is_contiguous() for weight in self._weights)

    def tensors(self, rows: int) -> List[Optional[torch.Tensor]]:
        assert rows == 1
        return self._weights


def in_panels(weight: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Lay out a weight, `(outputs, inputs)`: `(groups, inputs, 16)`, the last group filled up with zeros."""
    outputs, inputs = weight.shape
    rest = -outputs % PANEL
    padded = torch.cat([weight, weight.new_zeros(rest, inputs)]) if rest else weight.contiguous()
    return padded.view(-1, PANEL, inputs).transpose(1, 2).to(dtype).contiguous()


def run_steps(
    weights: StepWeights,
    clips: Clips,
    starts: Sequence[int],
    sizes: Sequence[int],
    gates: torch.Tensor,
    outputs: torch.Tensor,
    hidden: torch.Tensor,
    cell: torch.Tensor,
) -> None:
    """
    Run steps one after the other. All tensors are float32, contiguous and on the CPU.

    # Parameters

    weights : of the layer.
    clips : the bounds.
    starts, sizes : first token, and number of running rows, of each step in the order of processing.
    gates : `(tokens, 4 cells)`, bias and product of the inputs; written over.
    outputs : `(tokens, projection)`, written.
    hidden, cell : `(rows, ...)`, the state; changed.
    """
    library = load()
    assert library is not None
    for tensor in (gates, outputs, hidden, cell):
        assert tensor.dtype == torch.float32 and tensor.is_contiguous() and tensor.device.type == "cpu"
    count = len(sizes)
    tensors = weights.tensors(max(sizes))
    getattr(library, weights.kernel)(
        (ctypes.c_int64 * count)(*starts),
        (ctypes.c_int64 * count)(*sizes),
        count,
        cell.shape[1],
        hidden.shape[1],
        gates.data_ptr(),
        outputs.data_ptr(),
        *[None if tensor is None else tensor.data_ptr() for tensor in tensors],
        hidden.data_ptr(),
        cell.data_ptr(),
        float("inf") if clips.cell is None else clips.cell,
        float("inf") if clips.projection is None else clips.projection,
    )


def add_product(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    """
    Add the product of many rows and a weight to `out`. All tensors are float32, contiguous and on the CPU.

    # Parameters

    x : `(rows, inputs)`.
    weight : `(outputs, inputs)`.
    out : `(rows, outputs)`, changed.
    """
    library = load()
    assert library is not None
    for tensor in (x, weight, out):
        assert tensor.dtype == torch.float32 and tensor.is_contiguous() and tensor.device.type == "cpu"
    (rows, inputs), outputs = x.shape, len(weight)
    library.elmo_add_float32(x.data_ptr(), rows, inputs, weight.data_ptr(), outputs, out.data_ptr())


def run_strongest(
    embedded: torch.Tensor, panels: Sequence[torch.Tensor], widths: Sequence[int], counts: Sequence[int]
) -> torch.Tensor:
    """
    Return the largest product of each filter over all windows of a word, `(words, filters)`; without biases.

    # Parameters

    embedded : `(words, characters, channels)`, float32, contiguous, on the CPU.
    panels : of the filters of each width, over `(width, channels)`.
    widths, counts : of the filters, one for each of `panels`.
    """
    library = load()
    assert library is not None
    assert embedded.dtype == torch.float32 and embedded.is_contiguous() and embedded.shape[1] >= max(widths)
    words, columns, channels = embedded.shape
    filters = sum(counts)
    out = embedded.new_empty((words, filters))
    for place, panel, width, count in zip(accumulate(counts, initial=0), panels, widths, counts):
        to = out.data_ptr() + place * out.element_size()
        library.elmo_strongest(
            embedded.data_ptr(), words, columns, channels, panel.data_ptr(), width, count, to, filters
        )
    return out


def unavailable_reason() -> Optional[str]:
    """Say why there are no compiled kernels; None where there are."""
    found = _opened()
    return found if isinstance(found, str) else None


def library_path() -> Optional[Path]:
    """Where the library is; None where it was not built."""
    paths = [Path(__file__).with_name(f"_kernels{suffix}") for suffix in EXTENSION_SUFFIXES]
    return next((path for path in paths if path.is_file()), None)


def load() -> Any:
    """The library; None where it is missing, damaged, of other sources, or not for this processor."""
    found = _opened()
    return None if isinstance(found, str) else found


@lru_cache(maxsize=None)
def _opened() -> Any:
    """The library, or why there is none."""
    path = library_path()
    if path is None:
        return (
            "the compiled kernels were not built with the package. They need Linux or macOS on x86-64, and a C++ "
            "compiler when the package is installed."
        )
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return f"{path.name} cannot be loaded ({error}). {_AGAIN}"
    # A package that is used where its sources lie may be newer than what was built from them.
    interface = library.elmo_interface() if hasattr(library, "elmo_interface") else "none"
    if interface != INTERFACE:
        return f"{path.name} has the interface {interface}, expected {INTERFACE}: it is of other sources. {_AGAIN}"
    if not library.elmo_can_run():
        return f"{path.name} cannot be used on this processor, which needs AVX2, FMA and F16C."
    _describe(library)
    return library


def _describe(library: Any) -> None:
    """Say what the calls take."""
    pointer, number, bound = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    for name, weights in (("float32", 2), ("single", 2), ("float16", 2), ("int8", 6)):
        steps = getattr(library, f"elmo_steps_{name}")
        steps.argtypes = [pointer] * 2 + [number] * 3 + [pointer] * (2 + weights + 2) + [bound] * 2
        steps.restype = None
    library.elmo_add_float32.argtypes = [pointer, number, number, pointer, number, pointer]
    library.elmo_add_float32.restype = None
    add = library.elmo_add_int8
    add.argtypes = [pointer, number, number, pointer, pointer, number, pointer, pointer, pointer]
    add.restype = None
    convolve = library.elmo_strongest
    convolve.argtypes = [pointer, number, number, number, pointer, number, number, pointer, number]
    convolve.restype = None
