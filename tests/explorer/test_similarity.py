import numpy as np
import pytest

pytest.importorskip("safetensors")

from elmo_plugin.explorer.similarity import similarities
from tests.explorer.explorers import SENTENCES, make_explorer
from tests.neighbors.indexes import brute_force


def test_similarities_are_cosines():
    embedder = make_explorer().embedder
    first, second = SENTENCES[0], SENTENCES[2]

    found = similarities(embedder, first, second, 2)

    vectors = embedder.embed([first, second])[:, 2]
    expected = np.stack([brute_force(vectors[len(first) :], vector) for vector in vectors[: len(first)]])
    assert found.shape == (len(first), len(second))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(np.diag(similarities(embedder, first, first, 1)), 1.0, atol=1e-6)
