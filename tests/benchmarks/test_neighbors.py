"""The benchmark of an index says whether it is exact, and what approximate search finds."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("faiss")
pytest.importorskip("h5py")

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.neighbors.index import TokenIndex
from elmo_plugin.neighbors.nearest import Neighbors
from tests.embedding.runs import make_embedder, write_text
from tests.neighbors.indexes import brute_force, build

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "neighbors.py"
_SPEC = importlib.util.spec_from_file_location("benchmark_of_neighbors", SCRIPT)
neighbors = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(neighbors)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark")
    embedder = make_embedder(folder / "biLM", kind=SentenceEmbedder)
    return build(write_text(folder / "text", 60), folder / "index", embedder, is_approximate=True), folder / "index"


def test_exact_search_is_right_and_wrong_search_is_seen(index, monkeypatch, capsys):
    assert neighbors.main([str(index[1]), "--queries", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "20 queries" in lines[0]
    assert [line.split(",")[0] for line in lines[1:]] == [
        f"layer {layer}: {how}" for layer in (1, 2) for how in ("exact", "approximate")
    ]
    assert "finds 100.00 % of the 10 nearest" in lines[2]

    nearest = TokenIndex.nearest

    def wrong(self, layer, *arguments):
        found = nearest(self, layer, *arguments)
        return found._replace(similarities=found.similarities - np.float32(1e-4) * (layer == 2))

    monkeypatch.setattr(TokenIndex, "nearest", wrong)
    assert neighbors.main([str(index[1]), "--queries", "20"]) == 1


def test_brute_force_in_blocks(index, monkeypatch):
    monkeypatch.setattr(neighbors, "_BYTES", 1)
    opened = index[0]
    everything = opened.vectors.gather(1, np.arange(opened.vectors.tokens))
    queries = everything[:3] + np.float32(0.1)

    found = neighbors.brute_force(opened, 1, queries)

    for query, cosines in zip(queries, found):
        np.testing.assert_allclose(cosines, np.sort(brute_force(everything, query))[::-1][:11], atol=1e-12)


def test_recall_counts_what_is_near_enough_and_not_the_token_itself():
    expected = np.array([[1.0, *np.linspace(0.9, 0.5, 10)]])
    found = Neighbors(np.array([[1.0, 0.9, 0.5, 0.4]]), np.array([[7, 1, 2, 3]]))

    assert neighbors.recall(found, expected, np.array([7])) == pytest.approx(2 / 10)
