import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.errors import EngineError, FormatError, WeightFileError
from elmo_plugin.formats.tensor_bundle import bundle
from elmo_plugin.formats.tensor_bundle.bundle import Bundle
from tests.formats import bundles

in_folder = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
TENSORS = {
    "lm/a": np.arange(6, dtype="float32").reshape(2, 3),
    "lm/b": np.array(2.5, "float32"),
    "lm/empty": np.zeros((0, 4), "float32"),
    "lm/wide": np.array([0.1], "float64"),
    "lm/half": np.array([0.5, -1], "float16"),
}


@pytest.mark.parametrize("how", [{}, {"compressed": True}, {"big_endian": True}, {"entries_per_block": 1}], ids=str)
def test_tensors_come_back(tmp_path, how):
    found = Bundle(bundles.write_bundle(tmp_path / "x", TENSORS, **how))

    assert found.shapes == {name: array.shape for name, array in TENSORS.items()}
    for name, array in TENSORS.items():
        assert found.read(name).dtype == np.float32
        assert np.array_equal(found.read(name), array.astype("float32")), name


def test_other_types_are_named(tmp_path):
    found = Bundle(bundles.write_bundle(tmp_path / "x", {"global_step": np.array(7, "int64")}))
    with pytest.raises(WeightFileError, match=r"x\.index: tensor 'global_step' holds int64, expected float32"):
        found.read("global_step")


def test_missing_and_swapped_data(tmp_path):
    first = bundles.write_bundle(tmp_path / "a", {"w": np.ones(3, "float32")})
    bundles.write_bundle(tmp_path / "b", {"w": np.zeros(3, "float32")})
    bundles.write_bundle(tmp_path / "c", {"w": np.zeros(1, "float32")})
    data = tmp_path / "a.data-00000-of-00001"
    for other, message in (
        (
            "b",
            "the checksum of tensor 'w' is wrong; the file is damaged, or belongs to another checkpoint than a.index",
        ),
        ("c", "has 4 bytes, but tensor 'w' ends at byte 12"),
    ):
        data.write_bytes((tmp_path / f"{other}.data-00000-of-00001").read_bytes())
        with pytest.raises(FormatError, match=f"a.data-00000-of-00001: {message}"):
            Bundle(first).read("w")
    assert Bundle(first).missing_files() == []
    data.unlink()
    assert Bundle(first).missing_files() == [data]
    with pytest.raises(WeightFileError, match="a.data-00000-of-00001: cannot be read .No such file.*copy them all"):
        Bundle(first).read("w")
    with pytest.raises(WeightFileError, match="nowhere.index: cannot be read"):
        Bundle(tmp_path / "nowhere.index")


ONE_SHARD = bundles.number_field(1, 1)


def one_entry(path, entry, header=ONE_SHARD):
    path.write_bytes(bundles.table({b"": header, b"w": entry}))
    path.with_name("x.data-00000-of-00001").write_bytes(bytes(100))
    return path


FLOAT, SIZE_12 = bundles.number_field(1, 1), bundles.number_field(5, 12)


def shape(*sizes):
    sides = b"".join(bundles.bytes_field(2, bundles.number_field(1, size)) for size in sizes)
    return bundles.bytes_field(2, sides)


@pytest.mark.parametrize(
    "entry,message",
    [
        (FLOAT + shape(4) + SIZE_12, r"tensor 'w' of shape \[4\] has 12 bytes"),
        (FLOAT + shape(1 << 39, 1 << 39) + SIZE_12, "has 12 bytes"),
        (FLOAT + shape(2**64 - 1) + SIZE_12, "a tensor with a side of 18446744073709551615"),
        (FLOAT + bundles.bytes_field(2, bundles.number_field(3, 1)) + SIZE_12, "a tensor of unknown shape"),
        (FLOAT + shape(3) + SIZE_12 + bundles.bytes_field(7, b""), "stored in pieces"),
        (FLOAT + shape(3) + SIZE_12 + bundles.number_field(4, 2**63), "ends at byte"),
        (bundles.number_field(1, 14) + shape(6) + SIZE_12, "holds bfloat16"),
        (bundles.number_field(1, 99) + shape(6) + SIZE_12, "holds TensorFlow's type 99"),
        (b"\x80", "cannot be read as the index of a TensorFlow checkpoint: a number is cut off"),
    ],
    ids=range(9),
)
def test_entries_that_cannot_be(tmp_path, entry, message):
    index = one_entry(tmp_path / "x.index", entry)
    with pytest.raises((FormatError, WeightFileError), match=message):
        Bundle(index).read("w")


@pytest.mark.parametrize(
    "header", [b"", bundles.number_field(1, 0), bundles.number_field(1, 1) + bundles.number_field(2, 2)]
)
def test_headers_that_cannot_be(tmp_path, header):
    with pytest.raises(FormatError, match="its header names"):
        Bundle(one_entry(tmp_path / "x.index", FLOAT, header))


def test_other_files(tmp_path, monkeypatch):
    path = tmp_path / "x.index"
    path.write_bytes(bundles.table({b"a": b""}))
    with pytest.raises(FormatError, match="a table, but without the header of a checkpoint"):
        Bundle(path)
    path.write_bytes(b"not at all")
    with pytest.raises(FormatError, match="the end of the table is missing"):
        Bundle(path)
    path.write_bytes(bundles.table({b"": bundles.number_field(1, 1), b"\xff": b""}))
    with pytest.raises(FormatError, match="cannot be read as the index"):
        Bundle(path)
    monkeypatch.setattr(bundle, "MAX_INDEX_SIZE", 5)
    with pytest.raises(FormatError, match="it has more than 5 bytes"):
        Bundle(path)


@in_folder
@given(data=st.data())
def test_damage_never_gives_other_numbers(tmp_path, data):
    """Cut off or hit by noise, in the index or in the data: an error of ours, or exactly what was written."""
    index = bundles.write_bundle(tmp_path / "x", TENSORS)
    victim = data.draw(st.sampled_from([index, tmp_path / "x.data-00000-of-00001"]))
    content = bytearray(victim.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    victim.write_bytes(content)
    try:
        found = Bundle(index)
        arrays = {name: found.read(name) for name in found.shapes}
    except EngineError as error:
        assert "x.index" in str(error) or "x.data" in str(error)
        return
    assert sorted(arrays) == sorted(TENSORS)
    for name, array in arrays.items():
        assert np.array_equal(array, TENSORS[name].astype("float32")), name
