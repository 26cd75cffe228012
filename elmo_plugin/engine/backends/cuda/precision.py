"""
What the cuda backend computes in: the dtype of the weights, with cell states and sums in float32 or better.

Products and convolutions of float32 are those of float32: TF32, which PyTorch allows convolutions by default, and sums
in half precision are settings of the process. They are off while work is launched, and are put back as they were.
"""

import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List

import torch

from elmo_plugin.engine.errors import ShapeError

#: dtype of the cell state for each dtype of the weights
CELL_DTYPES: Dict[torch.dtype, torch.dtype] = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
}

_SUMS = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")


def check_dtypes(tensors: Dict[str, torch.Tensor]) -> None:
    """
    Look whether this backend can compute with the tensors of a layer.

    # Raises

    `ShapeError` where they have several dtypes, or one that this backend cannot compute in.
    """
    found = {name: tensor.dtype for name, tensor in tensors.items()}
    dtype = next(iter(found.values()))
    if set(found.values()) != {dtype}:
        raise ShapeError(f"backend 'cuda': tensors of one layer have dtypes {found}, expected one dtype for all.")
    if dtype not in CELL_DTYPES:
        raise ShapeError(f"backend 'cuda': dtype is {dtype}, expected one of {list(CELL_DTYPES)}.")


@contextmanager
def exact_products(device: torch.device) -> Iterator[None]:
    """
    Launch products and convolutions without TF32, without sums in half precision and outside of the caller's autocast.
    """
    _switches.turn_off()
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        _switches.put_back()


class _Switches:
    """The process's settings, turned off as long as anybody needs it, in whichever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._undo: List[Callable[[], None]] = []

    def turn_off(self) -> None:
        with self._lock:
            if self._users == 0:
                self._undo = _tf32_of_products_off() + _tf32_of_convolutions_off() + _half_sums_off()
            self._users += 1

    def put_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for undo in self._undo:
                    undo()
                self._undo = []


_switches = _Switches()


def _setting(name: str) -> Any:
    """A setting of CUDA's products; None where this PyTorch does not have it."""
    try:
        return getattr(torch.backends.cuda.matmul, name)
    except (AttributeError, AssertionError):  # the second up to torch 1.13
        return None


def _set(name: str, value: Any) -> None:
    setattr(torch.backends.cuda.matmul, name, value)


def _tf32_of_products_off() -> List[Callable[[], None]]:
    """Turn TF32 off by the interface that it was turned on by: PyTorch refuses to answer by the other one."""
    new = _setting("fp32_precision")  # torch >= 2.9
    if new != "tf32" if new is not None else not _setting("allow_tf32"):
        return []
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:
        _set("fp32_precision", "ieee")
        return [_back_to_tf32]
    torch.set_float32_matmul_precision("highest")
    return [lambda: torch.set_float32_matmul_precision(before)]


def _back_to_tf32() -> None:
    _set("fp32_precision", "none")  # as the setting for all of PyTorch says, where it came from there
    if _setting("fp32_precision") != "tf32":
        _set("fp32_precision", "tf32")


def _tf32_of_convolutions_off() -> List[Callable[[], None]]:
    owner: Any = torch.backends.cudnn
    name: str = "allow_tf32"
    on: Any = True
    off: Any = False
    try:
        before = owner.allow_tf32
    except RuntimeError:  # set apart from recurrent layers, by the newer interface
        owner, name, on, off = owner.conv, "fp32_precision", "tf32", "ieee"
        before = owner.fp32_precision
    if before != on:
        return []
    setattr(owner, name, off)
    return [lambda: setattr(owner, name, on)]


def _half_sums_off() -> List[Callable[[], None]]:
    undo: List[Callable[[], None]] = []

    def turn_off(name: str, off: Any, on: Any) -> None:
        _set(name, off)
        undo.append(lambda: _set(name, on))

    for name in _SUMS:
        if _setting(name):
            split = _setting(f"{name}_split_k")  # set together with the other
            turn_off(name, False if split is None else (False, split), True if split is None else (True, split))
    if _setting("allow_fp16_accumulation"):
        turn_off("allow_fp16_accumulation", False, True)
    return undo
