"""What the workers of a cluster do, without one."""

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("h5py")

from elmo_plugin.elmo_embedder import ElmoEmbedder  # noqa: E402
from elmo_plugin.embedding.partitions import PartitionFolder  # noqa: E402
from elmo_plugin.embedding.workers import EmbeddingWorker, WorkerSettings, WritingWorker  # noqa: E402
from elmo_plugin.engine.errors import OptionsError  # noqa: E402
from tests import tiny  # noqa: E402

TEXTS = ["The cat sat .", "", "naïve 日本語", "a " * 30, "The cat sat ."] * 4
TABLE = pyarrow.table({"id": list(range(20)), "text": [f"{text} {number}" for number, text in enumerate(TEXTS)]})


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    folder = tmp_path_factory.mktemp("biLM")
    tiny.write(folder)
    return str(folder)


# A sentence alone and one in a batch add up in other orders, and this biLM's weights make much of that.
@pytest.mark.parametrize("layers,dtype,tolerance", [("all", "float32", 1e-4), ("top", "float16", 3e-3)])
def test_tables(weights, layers, dtype, tolerance):
    worker = EmbeddingWorker(WorkerSettings(weights=weights, layers=layers, dtype=dtype))
    rows = worker(TABLE).to_pylist()
    elmo = ElmoEmbedder(weights=weights, state="reset")

    assert [row["id"] for row in rows] == list(range(20))
    for row in rows:
        expected = elmo.embed_sentence(row["text"].split()).transpose(1, 0, 2)
        expected = expected if layers == "all" else expected[:, -1]
        np.testing.assert_allclose(np.array(row["vectors"], dtype=np.float32), expected, atol=tolerance)
    assert worker(TABLE.slice(0, 0)).num_rows == 0


def test_missing_text_has_no_tokens(weights):
    worker = EmbeddingWorker(WorkerSettings(weights=weights))

    assert worker(pyarrow.table({"text": ["a", None]})).column("vectors")[1].as_py() == []


def test_files(weights, tmp_path):
    PartitionFolder(str(tmp_path)).make()
    worker = WritingWorker(WorkerSettings(weights=weights, dtype="float32"), str(tmp_path), 6)
    first = worker(TABLE).to_pylist()
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(files) == sorted(row["name"] for row in first)
    assert [(row["sentences"], row["is_new"]) for row in first] == [(6, True), (6, True), (6, True), (2, True)]
    assert sum(row["tokens"] for row in first) == 4 * (5 + 1 + 3 + 31 + 5)

    (tmp_path / first[2]["name"]).unlink()
    again = worker(TABLE).to_pylist()

    assert [row["is_new"] for row in again] == [False, False, True, False]
    assert [row["tokens"] for row in again] == [row["tokens"] for row in first]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize(
    "settings,message",
    [({"state": "carried"}, 'state is "carried"'), ({"dtype": "int8"}, "dtype is 'int8'; choose one of")],
)
def test_what_no_worker_can_do(settings, message):
    with pytest.raises(OptionsError, match=message):
        WorkerSettings(**settings).check()


@pytest.mark.parametrize("column", [[1, 2], [b"a", b"b"], [["a"], ["b"]]], ids=str)
def test_a_column_of_something_else(weights, column):
    with pytest.raises(OptionsError, match="the column 'text' holds .*, expected text"):
        EmbeddingWorker(WorkerSettings(weights=weights))(pyarrow.table({"text": column}))


def test_numbers_that_half_precision_does_not_hold(weights, monkeypatch):
    worker = EmbeddingWorker(WorkerSettings(weights=weights, dtype="float16"))
    embed = worker.embedder.embed
    monkeypatch.setattr(worker.embedder, "embed", lambda sentences: embed(sentences) * 1e6)
    with pytest.raises(OptionsError, match="sentences 0 to 19 of a table: a vector has numbers that float16 does not"):
        worker(TABLE)


def test_the_column_is_named(weights):
    with pytest.raises(OptionsError, match=r"no column 'sentence' but \['id', 'text'\]"):
        EmbeddingWorker(WorkerSettings(weights=weights, text="sentence"))(TABLE)


def test_a_column_of_the_name_of_the_vectors_is_refused(weights):
    worker = EmbeddingWorker(WorkerSettings(weights=weights))
    with pytest.raises(OptionsError, match="has a column 'vectors' already"):
        worker(worker(TABLE))
