"""What a result was measured on."""

import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy
import torch

import elmo_plugin

_PACKAGES = ("allennlp", "numpy", "torch", "triton")


def describe(device: torch.device) -> Dict[str, Any]:
    """Describe machine, software and commit, in values that JSON can hold."""
    return {
        "time": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "vector_instructions": _vector_instructions(),
        "memory_gib": _gib(_meminfo("MemTotal")),
        "load_before": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "mkl": torch.backends.mkl.is_available(),
        "elmo_plugin": elmo_plugin.__version__,
        "commit": commit(),
    }


def available_memory(device: torch.device) -> Optional[int]:
    """Return how many bytes can still be had on the device; None where that is not known."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # by PyTorch, for whoever asks
        return torch.cuda.mem_get_info(device)[0] + kept
    return _meminfo("MemAvailable")


def lacks_memory(problem: RuntimeError) -> bool:
    """Whether an error of PyTorch says that memory does not suffice; an illegal access to it is another matter."""
    said = str(problem).lower()
    return any(words in said for words in ("out of memory", "allocate memory", "not enough memory", "alloc_failed"))


def last_level_cache(device: torch.device) -> Optional[int]:
    """Return the size of the largest cache in bytes; None where that is not known."""
    if device.type == "cuda":
        return getattr(torch.cuda.get_device_properties(device), "L2_cache_size", None)
    sizes: List[int] = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text[:-1]) * {"K": 2**10, "M": 2**20}[text[-1]])
    return max(sizes, default=None)


def commit() -> Optional[str]:
    """
    Name the commit of this package's checkout, with "-dirty" where files of the package or experiments differ from it;
    None where it is installed without one, be it inside another repository.
    """
    folder = Path(elmo_plugin.__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        name = _git(folder, "rev-parse", "HEAD")
        has_experiments = (folder.parent / "experiments").is_dir()
        where = [".", *(["../experiments", ":(exclude)../experiments/results"] if has_experiments else [])]
        changed = _git(folder, "status", "--porcelain", "--", *where)
    except (OSError, subprocess.CalledProcessError):
        return None
    return name + ("-dirty" if changed else "")


def short(commit: str) -> str:
    """Return a commit, and what is behind it such as "-dirty", for people."""
    name, _, state = commit.partition("-")
    return name[:9] + (f"-{state}" if state else "")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _vector_instructions() -> Optional[str]:
    capability = getattr(torch.backends.cpu, "get_cpu_capability", None) if hasattr(torch.backends, "cpu") else None
    return None if capability is None else capability()


def _meminfo(name: str) -> Optional[int]:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":")), None)


def _gib(size: Optional[int]) -> Optional[float]:
    return None if size is None else round(size / 2**30, 1)


def _version(name: str) -> Optional[str]:
    if name in ("numpy", "torch"):  # as imported, a build's suffix included
        return {"numpy": numpy, "torch": torch}[name].__version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git(folder: Path, *arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.strip()
