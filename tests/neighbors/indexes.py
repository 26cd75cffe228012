"""Indexes of random text by a tiny biLM, in processes that can be killed."""

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import numpy as np
import torch

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.neighbors.build import IndexTarget, build_index
from elmo_plugin.neighbors.index import TokenIndex


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
    """
    Build in a process of its own.

    # Parameters

    before : called in that process, in front of the build.
    kill_after : seconds until the process is killed, unless it has ended.

    # Returns

    Its exit code: negative for a signal.
    """

    def work() -> None:
        torch.set_num_threads(1)  # threads do not survive a fork
        if before is not None:
            before()
        build_index(text, IndexTarget(folder, **settings), embedder, "tiny")

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(kill_after)
    if process.is_alive():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return process.exitcode


def content_of(folder: Path) -> Dict[str, bytes]:
    """The bytes of every file of an index that is read."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def brute_force(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The cosine of a query `(dim,)` and each of the vectors `(n, dim)`, in float64."""
    vectors, query = vectors.astype(np.float64), query.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return vectors @ query / np.where(lengths > 0, lengths, 1.0)
