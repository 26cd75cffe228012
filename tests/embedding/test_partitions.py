import datetime
import decimal
import logging

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow")

from elmo_plugin.embedding.partitions import Partition, PartitionFolder  # noqa: E402

TABLE = pyarrow.table({"text": ["a b", ""]})


def write(folder, about=None, pieces=lambda table: [table.slice(0, 1), table.slice(1)]):
    return folder.write(TABLE, TABLE.schema, about or {}, pieces, lambda piece: piece.num_rows)


@pytest.mark.parametrize("as_uri", [False, True])
def test_a_partition_is_written_once(as_uri, tmp_path):
    place = tmp_path / "new" / "folder"
    folder = PartitionFolder(place.as_uri() if as_uri else str(place))
    folder.make()
    first = write(folder)

    assert first == Partition(first.name, 2, 2, True)
    assert write(folder, pieces=lambda table: pytest.fail("is there")) == first._replace(is_new=False)
    assert write(folder, {"layers": "top"}).name != first.name
    assert pyarrow.parquet.read_table(place / first.name).column("text").to_pylist() == ["a b", ""]


def test_what_is_not_whole_has_no_name(tmp_path):
    folder = PartitionFolder(str(tmp_path))

    def fails(table):
        yield table
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        write(folder, pieces=fails)

    assert list(tmp_path.glob("part-*")) == []
    partition = write(folder)
    assert partition.is_new
    folder.finish([partition], {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", partition.name]


def test_files_of_others_are_told(tmp_path, caplog):
    folder = PartitionFolder(str(tmp_path))
    partition = write(folder)
    write(folder, {"layers": "top"})
    with caplog.at_level(logging.WARNING):
        folder.finish([partition], {})

    assert "holds 1 Parquet files that are not of this dataset" in caplog.text


class TensorScalar(pyarrow.ExtensionScalar):
    def as_py(self, **_):
        return np.array(self.value.as_py(), dtype=np.int64)


class TensorType(pyarrow.ExtensionType):
    """A column of arrays, as Ray Data makes them of images."""

    def __init__(self):
        super().__init__(pyarrow.list_(pyarrow.int64()), "tensor")

    def __arrow_ext_serialize__(self):
        return b""

    def __arrow_ext_scalar_class__(self):
        return TensorScalar


def of_arrays(changed):
    rows = np.zeros((2, 5000), dtype=np.int64)
    rows[1, 2500] = changed
    return pyarrow.ExtensionArray.from_storage(TensorType(), pyarrow.array(rows.tolist()))


@pytest.mark.parametrize(
    "one,other",
    [
        (of_arrays(0), of_arrays(1)),
        ([b"a", b"b"], [b"a", b"c"]),
        ([datetime.datetime(2020, 1, 1), None], [datetime.datetime(2020, 1, 1, microsecond=1), None]),
        ([decimal.Decimal("1.0"), None], [decimal.Decimal("1.1"), None]),
    ],
    ids=["arrays", "bytes", "times", "decimals"],
)
def test_other_columns_tell_partitions_of_one_text_apart(one, other, tmp_path):
    """A partition that is taken for one that is there loses its columns."""
    folder = PartitionFolder(str(tmp_path))
    names = []
    for column in (one, other, one):
        table = pyarrow.table({"text": ["a b", ""], "more": column})
        names.append(folder.write(table, table.schema, {}, lambda table: [table], lambda piece: 0).name)

    assert names[0] == names[2] != names[1]
