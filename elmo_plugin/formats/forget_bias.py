"""
The forget bias between bilm-tf's files and the engine, bit for bit.

TensorFlow's cell adds 1 to the forget bias while it runs. AllenNLP, and with it the engine, adds the 1 once, in
float32, when the file is read. That sum rounds: most trained biases cannot be told from it. The error of a float32
addition is a float32 itself (Knuth's TwoSum), so the engine keeps it beside the bias, in a buffer that takes no part
in the arithmetic.
"""

from typing import Tuple

import numpy as np


def add_one(raw: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """
    Turn the forget bias of a file into the engine's.

    # Parameters

    raw : `(cells,)`, float32, as it stands in the file.

    # Returns

    `raw + 1` as AllenNLP computes it, and the residual that rounding took away, both `(cells,)`, float32.
    """
    bias = (raw + np.float32(1)).astype(np.float32)
    residual = (raw.astype(np.float64) - (bias.astype(np.float64) - 1)).astype(np.float32)
    return bias, np.where(bias == 1, raw, residual)  # keeps the sign of a zero


def subtract_one(bias: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """
    Turn the engine's forget bias into that of a file: the inverse of `add_one`.

    # Parameters

    bias, residual : `(cells,)`, float32. A residual that no longer fits, because the bias was trained, is left out.

    # Returns

    `(cells,)`, float32: the original value where the bias is untouched, else the value that is read back as this bias
    if there is one (see `is_exact`), else the nearest.
    """
    wide = bias.astype(np.float64) - 1
    original = np.where(bias == 1, residual, wide + residual).astype(np.float32)
    return np.where(is_exact(bias, original), original, wide.astype(np.float32))


def is_exact(bias: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """
    Say which elements of a file's forget bias are read back as exactly this bias of the engine.

    A trained bias between -0.5 and 0.5 may have more digits than a float32 near -1 can hold; the file is then up to
    3e-8 away.

    # Parameters

    bias : `(cells,)`, float32, the engine's.
    raw : `(cells,)`, float32, the file's.

    # Returns

    `(cells,)`, bool.
    """
    read_back = (raw + np.float32(1)).astype(np.float32)
    return np.equal(read_back.view(np.int32), np.ascontiguousarray(bias).view(np.int32))


def restore(stored: np.ndarray, raw: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """
    Take the exact bias that was stored beside the file's, wherever the file's was not changed afterwards.

    # Parameters

    stored : `(cells,)`, float32, the engine's bias when the file was written.
    raw : `(cells,)`, float32, the file's bias now.
    bias : `(cells,)`, float32, `add_one(raw)`.

    # Returns

    `(cells,)`, float32.
    """
    unchanged = (stored.astype(np.float64) - 1).astype(np.float32) == raw
    return np.where(unchanged, stored, bias)
