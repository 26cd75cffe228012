import sys

import pytest
import torch

from elmo_plugin.benchmark.peers import PeerUnavailableError, WeightFiles, names
from elmo_plugin.benchmark.peers.base import stock_memory
from elmo_plugin.benchmark.sizes import SIZES, Model, random_model
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.options import BiLmOptions


def test_names():
    assert {"cpu", "reference", "allennlp", "transcription", "torch-lstm", "bilm-tf"} <= set(names())


def test_weight_files_are_written_once_and_removed():
    pytest.importorskip("h5py")
    from elmo_plugin.formats import read_pair

    model = random_model("tiny", 0)
    files = WeightFiles()
    options_file, weight_file = files.of(model)
    written = weight_file.stat().st_mtime_ns

    weights = read_pair(options_file, weight_file)

    assert BiLmOptions.from_file(options_file) == weights.options == model.options
    for name, tensor in model.tensors.items():
        assert torch.equal(weights.tensors[name], tensor), name
    assert files.of(model) == (options_file, weight_file)
    assert weight_file.stat().st_mtime_ns == written
    files.close()
    assert not weight_file.exists()


def test_weight_files_need_h5py(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)

    with pytest.raises(PeerUnavailableError, match="h5py is not installed"):
        WeightFiles().of(random_model("tiny", 0))


def test_memory_of_the_stock_character_cnn():
    model = Model("original", SIZES["original"], {})
    ids = batch_to_ids([["word"] * 98] * 10)

    # 10 x 100 places, 50 characters, 1024 filters of the widest kind, 4 bytes, twice
    assert stock_memory(model, ids, "float32") == 2 * 1000 * 50 * 1024 * 4
    assert stock_memory(model, ids, "float64") == 2 * stock_memory(model, ids, "float32")
