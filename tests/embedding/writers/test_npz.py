import zipfile

import numpy as np
import pytest

from elmo_plugin.embedding.part_file import WindowVectors
from elmo_plugin.embedding.writers.base import Keys
from elmo_plugin.embedding.writers.npz import NpzWriter


@pytest.mark.parametrize("layers_first", [True, False])
def test_an_array_for_each_line(layers_first, tmp_path):
    vectors = np.arange(36, dtype=np.float32).reshape(3, 3, 4)
    vectors = vectors.transpose(1, 0, 2) if layers_first else vectors
    writer = NpzWriter(tmp_path / "out.npz", (3, 4), Keys(), True)
    writer.add(WindowVectors(0, ["a b", ""], np.array([2, 0]), vectors[:2]))
    writer.add(WindowVectors(2, ["c"], np.array([1]), vectors[2:]))
    writer.close({"layers": "all"})

    with np.load(tmp_path / "out.npz") as file:
        assert file.files == ["0", "1", "2"]
        np.testing.assert_array_equal(file["0"], vectors[:2].transpose(1, 0, 2))
        assert file["1"].shape == (3, 0, 4)
        np.testing.assert_array_equal(file["2"], vectors[2:].transpose(1, 0, 2))
    assert NpzWriter.describe(tmp_path / "out.npz") == {"layers": "all"}


@pytest.mark.parametrize("comment", [b"", b"5", b'["a"]', b"of somebody else", b"\xff"])
def test_archives_of_others_say_nothing(comment, tmp_path):
    with zipfile.ZipFile(tmp_path / "out.npz", "w") as archive:
        archive.comment = comment

    assert NpzWriter.describe(tmp_path / "out.npz") == {}
