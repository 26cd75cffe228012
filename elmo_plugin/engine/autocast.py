"""Autocast, where the caller is inside it: products that have to keep the dtype of their weights are made outside."""

from contextlib import nullcontext
from typing import ContextManager

import torch


def outside_autocast(device: torch.device) -> ContextManager[None]:
    """Let what runs on a device keep its dtypes, also where the caller is inside autocast."""
    return torch.autocast(device.type, enabled=False) if device.type in ("cpu", "cuda") else nullcontext()
