"""Float32 for all peers alike: on a GPU PyTorch makes convolutions in TF32 unless it is told not to, AllenNLP's too."""

from contextlib import contextmanager
from typing import Iterator

import torch


@contextmanager
def without_tf32() -> Iterator[None]:
    """Turn TF32 off for the whole process: a baseline in it is off by more than the tolerance of float32."""
    products, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(products)
        torch.backends.cudnn.allow_tf32 = convolutions
