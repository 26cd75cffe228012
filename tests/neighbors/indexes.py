"""Indexes of random text by a tiny biLM, in processes that can be killed."""

from pathlib import Path
from typing import Any, Callable, Dict, Optional

import numpy as np

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.neighbors.build import IndexTarget, build_index
from elmo_plugin.neighbors.index import TokenIndex
from tests.processes import run_in_process


def build(text: Path, folder: Path, embedder: SentenceEmbedder, weights: str = "tiny", **settings: Any) -> TokenIndex:
    """Build and open an index."""
    build_index(text, IndexTarget(folder, **settings), embedder, weights)
    return TokenIndex(folder)


def build_in_process(
    text: Path,
    folder: Path,
    embedder: SentenceEmbedder,
    before: Optional[Callable[[], None]] = None,
    kill_after: Optional[float] = None,
    **settings: Any,
) -> Optional[int]:
    """Build in a process of its own; the rest is as for `run_in_process`."""
    return run_in_process(
        lambda: build_index(text, IndexTarget(folder, **settings), embedder, "tiny"), before, kill_after
    )


def content_of(folder: Path) -> Dict[str, bytes]:
    """The bytes of every file of an index that is read."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def brute_force(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The cosine of a query `(dim,)` and each of the vectors `(n, dim)`, in float64."""
    vectors, query = vectors.astype(np.float64), query.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return vectors @ query / np.where(lengths > 0, lengths, 1.0)
