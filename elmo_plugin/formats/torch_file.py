"""Files that `torch.save` wrote, read without running code from them, whatever the version of PyTorch."""

import inspect
import pickle
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, Mapping

import torch

from elmo_plugin.engine.errors import FormatError

# What a state dict is made of; PyTorch itself puts the types of storages in their place before it asks.
_ALLOWED = {
    ("collections", "OrderedDict"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch._utils", "_rebuild_tensor"),
    ("torch._utils", "_rebuild_tensor_v2"),
}


def load_state(path: Path, where: str) -> Mapping[str, Any]:
    """
    Load a state dict on the CPU; raises `FormatError` where the file is something else.

    # Parameters

    path : the file.
    where : what to call it in messages.
    """
    is_zip = zipfile.is_zipfile(path)
    if is_zip:
        _check_stored(path, where)
    # weights_only came with PyTorch 1.13; mmap with 2.1, and not for the format from before 1.6
    known = inspect.signature(torch.load).parameters
    try:
        extras: Dict[str, Any] = {"mmap": is_zip} if "mmap" in known else {}
        extras.update({"weights_only": True} if "weights_only" in known else {"pickle_module": RESTRICTED_PICKLE})
        state = torch.load(path, map_location="cpu", **extras)
    except MemoryError:
        raise
    except Exception as error:  # a damaged file lets them raise anything
        raise FormatError(f"{where}: cannot be read as weights saved by PyTorch ({_reason(error)}).") from error
    if not isinstance(state, Mapping):
        raise FormatError(f"{where}: holds a {type(state).__name__}, expected a state dict.")
    return state


def _check_stored(path: Path, where: str) -> None:
    """Refuse what somebody has packed again: PyTorch maps the bytes of a record into memory as they stand."""
    try:
        with zipfile.ZipFile(path) as archive:
            packed = [one.filename for one in archive.infolist() if one.compress_type != zipfile.ZIP_STORED]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise FormatError(f"{where}: cannot be read as weights saved by PyTorch ({error}).") from error
    if packed:
        raise FormatError(
            f"{where}: {packed[0]!r} is compressed, expected the records as torch.save writes them, which does not "
            "compress. Was the file packed again? Take the original, or store it without compression (zip -0)."
        )


def _reason(error: Exception) -> str:
    """What went wrong, without PyTorch's advice to load the file in a way that runs code from it."""
    asked = re.search(r"GLOBAL ([\w.]+)", str(error))
    if asked is not None:
        return f"the file asks for {asked[1]}, which weights do not need"
    return re.split(r"\. |\n", str(error), maxsplit=1)[0] or type(error).__name__


def float32_copy(state: Mapping[str, Any], name: str, source: str) -> torch.Tensor:
    """
    Return a tensor of a state dict as float32; raises `FormatError` where it holds something else under that name.

    # Parameters

    state : what `load_state` returned.
    name : of the tensor.
    source : what to call the state dict in messages.

    # Returns

    A copy of its own, because the file behind the tensor may be mapped into memory and go away.
    """
    tensor = state.get(name)
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
        found = tensor.dtype if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        raise FormatError(f"{source}: {name!r} is {found}, expected a tensor of floating-point numbers.")
    if not stores_its_numbers(tensor):
        raise FormatError(
            f"{source}: {name!r} says that it has {tensor.numel():,} numbers, which are not all in the file; expected "
            "a tensor that stores each of them. Save it again as a dense one (contiguous(), to_dense())."
        )
    return tensor.detach().to(torch.float32, copy=True)


def stores_its_numbers(tensor: torch.Tensor) -> bool:
    """
    Whether a tensor is an array in memory with a place for each number. Others (sparse, without a storage, or with one
    number that stands for any number of them) come out of a few bytes and fill the memory when they are used.
    """
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or getattr(tensor, "is_nested", False):
        return False
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return tensor.numel() * tensor.element_size() <= storage.nbytes()


class _RestrictedUnpickler(pickle.Unpickler):
    """Refuses every name but those of a state dict: to unpickle a name may run it."""

    def find_class(self, module: str, name: str) -> Any:
        is_storage = module in ("torch", "torch.storage") and name.endswith("Storage") and name.isidentifier()
        if (module, name) in _ALLOWED or is_storage:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"the file asks for {module}.{name}, which weights do not need")


def _load(file: Any, **options: Any) -> Any:
    return _RestrictedUnpickler(file, **options).load()


#: in place of the module `pickle`, for a PyTorch that cannot restrict itself
RESTRICTED_PICKLE = SimpleNamespace(Unpickler=_RestrictedUnpickler, load=_load, __name__="restricted_pickle")
