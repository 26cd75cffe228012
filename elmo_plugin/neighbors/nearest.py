"""The nearest of many vectors, which come block by block: exact, and in memory for one block alone."""

from typing import NamedTuple

import numpy as np

from elmo_plugin.neighbors.library import load_faiss, unit

#: in the place of a number where there are fewer neighbours than were asked for
NONE = -1


class Neighbors(NamedTuple):
    """
    The nearest of each query, the most similar first; of equal similarity, that of the smaller number first.

    # Parameters

    similarities : cosines, `(queries, k)` float32; minus infinity where there is none.
    numbers : of the neighbours, `(queries, k)` int64; `NONE` where there is none.
    """

    similarities: np.ndarray
    numbers: np.ndarray


class NearestSearch:
    """
    Keeps the nearest that each query has met so far.

    # Parameters

    queries : `(queries, dim)`.
    k : neighbours of each.
    """

    def __init__(self, queries: np.ndarray, k: int) -> None:
        self._faiss = load_faiss()
        self._queries = unit(queries)
        self._k = k
        self._best = nothing(len(queries), k)

    def add(self, vectors: np.ndarray, numbers: np.ndarray) -> None:
        """
        Look at some vectors.

        # Parameters

        vectors : `(n, dim)`, any dtype.
        numbers : their names, `(n,)` int64.
        """
        if not len(vectors) or not len(self._queries):
            return
        k = min(self._k, len(vectors))
        similarities, places = self._faiss.knn(self._queries, unit(vectors), k, metric=self._faiss.METRIC_INNER_PRODUCT)
        self._best = merge(self._best, Neighbors(similarities, numbers[places]), self._k)

    def result(self) -> Neighbors:
        """The nearest of all vectors so far."""
        return self._best


def nothing(queries: int, k: int) -> Neighbors:
    """No neighbours."""
    return Neighbors(np.full((queries, k), -np.inf, dtype=np.float32), np.full((queries, k), NONE, dtype=np.int64))


def merge(one: Neighbors, other: Neighbors, k: int) -> Neighbors:
    """Take the k nearest of both."""
    similarities = np.concatenate([one.similarities, other.similarities], axis=1)
    numbers = np.concatenate([one.numbers, other.numbers], axis=1)
    order = np.lexsort((numbers, -similarities), axis=1)[:, :k]
    return Neighbors(np.take_along_axis(similarities, order, axis=1), np.take_along_axis(numbers, order, axis=1))
