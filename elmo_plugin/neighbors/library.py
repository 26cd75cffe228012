"""The library that searches."""

import logging
from typing import Any

import numpy as np

from elmo_plugin.engine.errors import BackendUnavailableError


def load_faiss() -> Any:
    """
    Import faiss.

    # Raises

    `BackendUnavailableError` where it is missing.
    """
    # What it says at the start about a library for other processors reads like an error.
    logging.getLogger("faiss.loader").setLevel(logging.WARNING)
    try:
        import faiss
    except ImportError as error:
        raise BackendUnavailableError(
            'the search for neighbours needs faiss: pip install "elmo_plugin[neighbors]".'
        ) from error
    return faiss


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors `(n, dim)` to length 1, as float32; zeros stay zeros, which are similar to nothing."""
    result = np.array(vectors, dtype=np.float32, order="C")
    lengths = np.sqrt(np.einsum("nd,nd->n", result, result, dtype=np.float64))
    result /= np.where(lengths > 0, lengths, 1.0).astype(np.float32)[:, None]
    return result
