"""Vectors in fewer digits, for half the space."""

import numpy as np

from elmo_plugin.engine.errors import OptionsError

#: what vectors are stored in where there is a choice
DTYPES = ("float16", "float32")


def check_dtype(dtype: str) -> None:
    """Raise `OptionsError` for a dtype that there is not."""
    if dtype not in DTYPES:
        raise OptionsError(f"dtype is {dtype!r}; choose one of {list(DTYPES)}.")


def rounded(vectors: np.ndarray, dtype: str, where: str) -> np.ndarray:
    """
    Round vectors.

    # Parameters

    vectors : any shape, float32.
    dtype : one of `DTYPES`.
    where : what to call the place in messages.

    # Raises

    `OptionsError` where the dtype does not hold a number.
    """
    with np.errstate(over="ignore"):
        stored = vectors.astype(dtype)
    if not np.isfinite(stored).all():
        raise OptionsError(
            f"{where}: a vector has numbers that {dtype} does not hold (the largest is {np.abs(vectors).max():g}). Use "
            "float32; if they are not finite there either, the weights are damaged."
        )
    return stored
