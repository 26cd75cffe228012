"""Search in blocks, against the cosines of everything with everything."""

import numpy as np
import pytest

pytest.importorskip("faiss")

from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.neighbors.library import unit
from elmo_plugin.neighbors.nearest import NONE, NearestSearch
from tests.neighbors.indexes import brute_force


@given(
    sizes=st.lists(st.integers(0, 30), max_size=5),
    queries=st.integers(0, 4),
    k=st.integers(1, 12),
    dim=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    dtype=st.sampled_from(["float16", "float32"]),
)
@settings(deadline=None, max_examples=60)
def test_equals_brute_force(sizes, queries, k, dim, seed, dtype):
    random = np.random.RandomState(seed)
    blocks = [random.standard_normal((size, dim)).astype(dtype) for size in sizes]
    asked = random.standard_normal((queries, dim)).astype("float32")
    search = NearestSearch(asked, k)
    start = 0
    for block in blocks:
        search.add(block, np.arange(start, start + len(block)) + 100)
        start += len(block)

    found = search.result()

    assert found.similarities.shape == found.numbers.shape == (queries, k)
    vectors = np.concatenate([np.empty((0, dim), dtype=dtype), *blocks])
    for row in range(queries):
        expected = brute_force(vectors, asked[row])
        there = min(k, len(vectors))
        assert (found.numbers[row][there:] == NONE).all()
        numbers = found.numbers[row][:there] - 100
        assert len(set(numbers.tolist())) == there
        np.testing.assert_allclose(found.similarities[row][:there], np.sort(expected)[::-1][:there], atol=2e-6)
        np.testing.assert_allclose(found.similarities[row][:there], expected[numbers], atol=2e-6)


def test_equal_vectors_come_in_the_order_of_their_numbers():
    search = NearestSearch(np.eye(3, dtype="float32")[:1], 3)
    search.add(np.eye(3)[[1, 0]], np.array([7, 9]))
    search.add(np.eye(3)[[0]], np.array([2]))

    assert search.result().numbers.tolist() == [[2, 9, 7]]


def test_zeros_are_similar_to_nothing():
    search = NearestSearch(np.ones((1, 2)), 2)
    search.add(np.array([[0.0, 0.0], [-1.0, -1.0]]), np.array([0, 1]))

    np.testing.assert_allclose(search.result().similarities, [[0.0, -1.0]], atol=1e-6)


@pytest.mark.parametrize("scale", [1e-18, 1.0, 1e18])
def test_length_is_one_whatever_it_was(scale):
    vectors = np.float32(scale) * np.array([[3.0, 4.0], [1.0, 0.0]], dtype="float32")

    np.testing.assert_allclose(unit(vectors), [[0.6, 0.8], [1.0, 0.0]], rtol=1e-6)
    assert vectors[0, 0] == np.float32(3 * np.float32(scale)), "the argument is not changed"
