import errno
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.embedding import part_file
from elmo_plugin.embedding.part_file import PartSummary, PartWriter, WindowVectors, is_damage, pieces, read_summary


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["<f4", "<f2", "<i8"]),
    st.booleans(),
    st.integers(1, 40),
)
def test_pieces_are_the_bytes_in_the_order_of_the_indices(shape, dtype, transposed, at_once):
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    if transposed:
        values = values.swapaxes(0, -1)
    before, part_file._BYTES_AT_ONCE = part_file._BYTES_AT_ONCE, at_once
    try:
        found = [bytes(piece) for piece in pieces(values)]
    finally:
        part_file._BYTES_AT_ONCE = before

    assert b"".join(found) == values.tobytes()
    assert all(0 < len(piece) <= max(at_once, values.itemsize) for piece in found)


def test_what_is_contiguous_is_not_copied():
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    (piece,) = pieces(values)
    assert np.shares_memory(np.frombuffer(piece, dtype=np.float32), values)


def test_the_layers_of_a_long_line_are_not_copied(monkeypatch):
    monkeypatch.setattr(part_file, "_BYTES_AT_ONCE", 16)
    window = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    line = list(pieces(window[:, 1:]))
    assert len(line) == 4 and all(np.shares_memory(np.frombuffer(piece, dtype=np.float32), window) for piece in line)


@pytest.mark.parametrize("bits", [0x01, 0x80])
def test_a_damaged_table_of_contents_is_damage_whatever_is_wrong(tmp_path, bits):
    """Its flags may say that there is a password, its numbers that the content begins in front of the file."""
    path = tmp_path / "00000000.part"
    writer = PartWriter(path)
    writer.add(WindowVectors(0, ["a b"], np.array([2]), np.ones((2, 3), dtype=np.float32)))
    summary = PartSummary(0, 1, 2, "digest", True, 1)
    writer.commit(summary, None)
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        begin = archive.start_dir
    found = []
    for place in range(begin, len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :])
        found.append(read_summary(path))

    assert set(found) == {summary, None}  # some of its bytes say nothing: dates, who may read


def test_what_is_wrong_with_memory_or_disk_is_no_damage(tmp_path):
    assert not is_damage(MemoryError()) and not is_damage(OSError(errno.EIO, "the disk"))
    with pytest.raises(FileNotFoundError):
        read_summary(tmp_path / "nothing")
