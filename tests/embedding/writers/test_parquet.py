import sys

import numpy as np
import pytest

from elmo_plugin.embedding.part_file import WindowVectors
from elmo_plugin.embedding.writers import parquet
from elmo_plugin.embedding.writers.base import Keys
from elmo_plugin.embedding.writers.parquet import ParquetWriter
from elmo_plugin.engine.errors import BackendUnavailableError


@pytest.mark.parametrize("shape", [(4,), (3, 4)], ids=str)
def test_a_row_for_each_line(shape, tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    vectors = np.arange(3 * np.prod(shape), dtype=np.float32).reshape(3, *shape)
    writer = ParquetWriter(tmp_path / "out", shape, Keys(), True)
    writer.add(WindowVectors(0, ["a b", ""], np.array([2, 0]), vectors[:2]))
    writer.add(WindowVectors(2, ["ü"], np.array([1]), vectors[2:]))
    writer.close({"layers": "all"})

    rows = pyarrow.parquet.read_table(tmp_path / "out").to_pylist()
    assert [row["line"] for row in rows] == [0, 1, 2]
    assert [row["tokens"] for row in rows] == [["a", "b"], [], ["ü"]]
    np.testing.assert_array_equal(np.array(rows[0]["vectors"]), vectors[:2])
    assert rows[1]["vectors"] == []
    assert ParquetWriter.describe(tmp_path / "out") == {"layers": "all"}


@pytest.mark.parametrize("at_once", [1, 40, 1 << 20])
def test_one_row_group_for_a_window_whatever_its_chunks(at_once, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    monkeypatch.setattr(parquet, "_BYTES_AT_ONCE", at_once)
    lengths = np.array([0, 3, 1, 0, 7, 2, 0])
    vectors = np.arange(13 * 6, dtype=np.float32).reshape(13, 3, 2)
    writer = ParquetWriter(tmp_path / "out", (3, 2), Keys(), True)
    writer.add(WindowVectors(0, [" ".join("a" * length) for length in lengths], lengths, vectors))
    writer.close({})

    assert pyarrow.parquet.read_metadata(tmp_path / "out").num_row_groups == 1
    rows = pyarrow.parquet.read_table(tmp_path / "out").to_pylist()
    assert [len(row["vectors"]) for row in rows] == lengths.tolist()
    np.testing.assert_array_equal(np.array(sum((row["vectors"] for row in rows), [])), vectors)


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BackendUnavailableError, match="needs the package pyarrow"):
        ParquetWriter.check(Keys())
