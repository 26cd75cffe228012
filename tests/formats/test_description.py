import pytest

from elmo_plugin.formats import read_pair, read_weights, write_weights
from elmo_plugin.formats.description import describe
from tests import tiny
from tests.formats import bundles


@pytest.mark.parametrize(
    "changes,heading,text",
    [
        ({"words": 7}, "token layer", "a table of 7 words"),
        ({"filters": [[2, 6]], "highways": 1}, "token layer", "filters 6 of 2 characters, relu; 1 highway layer"),
        (
            {"cells": 6, "layers": 1, "skip": False, "clip": None},
            "LSTM",
            "1 layer of 6 cells in each direction; without skip connections; cells not clipped, "
            "projections not clipped",
        ),
        ({}, "numbers", "float32"),
        ({}, "format", "hdf5, as of AllenNLP and bilm-tf"),
    ],
    ids=range(5),
)
def test_lines(tmp_path, changes, heading, text):
    _, weight_file = tiny.write(tmp_path, **changes)
    path = tmp_path / "weights.hdf5"

    assert dict(describe(path, read_weights(path)))[heading].endswith(text)


def test_the_numbers_of_a_file_of_ours(tmp_path):
    write_weights(read_pair(*tiny.write(tmp_path / "a")), tmp_path / "x.safetensors", dtype="bfloat16")

    assert dict(describe(tmp_path / "x.safetensors", read_weights(tmp_path / "x.safetensors")))["numbers"] == "BF16"


def test_the_size_of_a_checkpoint_is_that_of_all_its_files(tmp_path):
    index = bundles.write_checkpoint(tmp_path)
    data = index.with_name("model.ckpt-0.data-00000-of-00001")
    size = index.stat().st_size + data.stat().st_size

    assert dict(describe(index, read_weights(index)))["size"] == f"{size:,} bytes"
