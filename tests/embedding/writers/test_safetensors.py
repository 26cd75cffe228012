import numpy as np
import pytest

from elmo_plugin.embedding.part_file import WindowVectors
from elmo_plugin.embedding.writers.base import Keys
from elmo_plugin.embedding.writers.safetensors import SafetensorsWriter

safetensors = pytest.importorskip("safetensors")


def test_two_tensors(tmp_path):
    vectors = np.arange(36, dtype=np.float32).reshape(3, 3, 4)
    path = tmp_path / "out"
    writer = SafetensorsWriter(path, (3, 4), Keys(), True)
    writer.add(WindowVectors(0, ["a b", ""], np.array([2, 0]), vectors[:2]))
    writer.add(WindowVectors(2, ["c"], np.array([1]), vectors[2:]))
    writer.close({"layers": "all", "dim": 4})

    with safetensors.safe_open(path, "np") as file:
        assert file.metadata() == {"layers": "all", "dim": "4"}
        np.testing.assert_array_equal(file.get_tensor("offsets"), [0, 2, 2, 3])
        np.testing.assert_array_equal(file.get_tensor("vectors"), vectors)
        start, stop = file.get_slice("offsets")[2:4]
        np.testing.assert_array_equal(file.get_slice("vectors")[int(start) : int(stop)], vectors[2:])
    assert SafetensorsWriter.describe(path) == {"layers": "all", "dim": 4}


def test_nothing(tmp_path):
    writer = SafetensorsWriter(tmp_path / "out", (4,), Keys(), True)
    writer.close({})

    with safetensors.safe_open(tmp_path / "out", "np") as file:
        assert file.get_tensor("vectors").shape == (0, 4) and file.get_tensor("offsets").tolist() == [0]
