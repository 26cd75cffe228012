"""Cells: looking into all of them is exact, and the recall of fewer is what it is said to be."""

import shutil

import numpy as np
import pytest

pytest.importorskip("faiss")
pytest.importorskip("h5py")

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.neighbors import approximate
from elmo_plugin.neighbors.index import TokenIndex
from tests.embedding.runs import make_embedder, small_parts, write_text
from tests.neighbors.indexes import build


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("approximate")
    text = write_text(folder / "text", 1500)
    embedder = make_embedder(folder / "biLM", kind=SentenceEmbedder, batch_tokens=1024)
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_parts(monkeypatch, part_bytes=1 << 17)
        return build(text, folder / "index", embedder, dtype="float32", is_approximate=True)


def test_all_cells_are_exact_and_recall_is_measured(index):
    cells = index.description["approximate"]["1"]
    assert cells["cells"] > 16
    assert len({block.part for block in index.vectors.blocks}) > 1
    queries = index.vectors.gather(1, np.arange(0, 800, 20)) + 0.05
    exact = index.nearest(1, queries, 10)

    everywhere = index.nearest(1, queries, 10, is_exact=False, looked_into=cells["cells"])
    np.testing.assert_allclose(everywhere.similarities, exact.similarities, atol=1e-5)

    few = index.nearest(1, queries, 10, is_exact=False)
    share = (few.similarities >= exact.similarities[:, -1:] - 1e-6).mean()
    assert index.recall(1) >= approximate.RECALL_WANTED or cells["looked_into"] == cells["cells"]
    assert share >= index.recall(1) - 0.1, "40 queries beside 200 others"


def test_number_of_cells_is_checked(index):
    with pytest.raises(OptionsError, match="0 cells to look into, expected 1 to"):
        index.nearest(2, np.ones((1, 12), dtype="float32"), 3, is_exact=False, looked_into=0)


@pytest.mark.parametrize("tokens,size", [(5, 10), (1000, 10), (1 << 25, 10)])
def test_sample_has_no_repetitions_and_is_the_same_again(tokens, size):
    drawn = approximate.sample(tokens, size)

    assert len(drawn) == len(set(drawn.tolist())) == min(tokens, size)
    assert (np.diff(drawn) > 0).all() and 0 <= drawn.min() <= drawn.max() < tokens
    assert (drawn == approximate.sample(tokens, size)).all()
    assert tokens <= size or (drawn != approximate.sample(tokens, size, seed=1)).any()


@pytest.mark.parametrize("is_there", [True, False])
def test_damaged_cells_are_named_with_the_cure(tmp_path, is_there):
    text = write_text(tmp_path / "text", 100)
    embedder = make_embedder(tmp_path / "biLM")
    built = build(text, tmp_path / "index", embedder, is_approximate=True)
    path = tmp_path / "index" / "approximate" / "layer1.00000000.faiss"
    content = path.read_bytes()
    path.unlink()
    if is_there:
        path.write_bytes(content[:-20])
    query = built.vectors.gather(1, np.array([3]))

    with pytest.raises(FormatError, match=r"layer1\.00000000\.faiss: (damaged|missing), .*--approximate --resume"):
        TokenIndex(tmp_path / "index").nearest(1, query, 3, is_exact=False)
    assert (TokenIndex(tmp_path / "index").nearest(1, query, 3).numbers == built.nearest(1, query, 3).numbers).all()
    shutil.rmtree(path.parent)
    again = build(text, tmp_path / "index", embedder, is_approximate=True, resume=True)
    assert path.read_bytes() == content and again.is_approximate
