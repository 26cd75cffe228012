"""The state of every random generator that a training draws from, in types that PyTorch loads without running code."""

import random
from typing import Any, Dict

import numpy as np
import torch


def random_state() -> Dict[str, Any]:
    """Take the states of Python's, NumPy's and PyTorch's generators, those of all visible GPUs included."""
    kind, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        "python": random.getstate(),
        # NumPy's own scalars and arrays are refused by `torch.load(weights_only=True)` of several versions
        "numpy": (str(kind), [int(key) for key in keys], int(position), int(has_gauss), float(gauss)),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: Dict[str, Any]) -> None:
    """Go on with the random numbers that would have come after `random_state`."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
