import sys
from pathlib import Path

import pytest

from elmo_plugin import formats
from elmo_plugin.engine.errors import FormatError, OptionsError, WeightFileError
from elmo_plugin.formats import pretrained, read_options, read_pair, read_weights, write_weights
from tests import tiny
from tests.formats.strategies import assert_same_bits


def test_public_names():
    assert formats.__all__ == ["WeightSet", "read_options", "read_pair", "read_weights", "write_weights"]


def test_every_way_to_say_it_gives_the_same(tmp_path):
    options_file, weight_file = tiny.write(tmp_path / "a")
    weights = read_pair(options_file, weight_file)
    write_weights(weights, tmp_path / "b" / "model.safetensors")
    sources = [
        weight_file,
        Path(weight_file),
        tmp_path / "a",
        str(tmp_path / "b"),
        tmp_path / "b" / "model.safetensors",
    ]

    for source in sources:
        assert_same_bits(read_weights(source).tensors, weights.tensors)
        assert read_options(source) == (weights.options, None)
    assert_same_bits(read_pair(options_file, tmp_path / "a").tensors, weights.tensors)
    assert read_options(weight_file, options_file) == (weights.options, None)


def test_suffixes_do_not_matter(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    weights = read_pair(options_file, weight_file)
    write_weights(weights, tmp_path / "x.safetensors")
    (tmp_path / "x.safetensors").rename(tmp_path / "y.hdf5")
    Path(weight_file).rename(tmp_path / "weights.safetensors")

    assert_same_bits(read_weights(tmp_path / "y.hdf5").tensors, weights.tensors)
    assert_same_bits(read_weights(tmp_path / "weights.safetensors").tensors, weights.tensors)


def test_builtin(tmp_path, monkeypatch):
    weights = read_pair(*tiny.write(tmp_path))
    write_weights(weights, tmp_path / "x.safetensors", dtype="float16")
    monkeypatch.setattr(pretrained, "_FOLDER", tmp_path)

    assert read_weights("builtin").options == weights.options
    assert read_options("builtin") == (weights.options, None)


def test_vocabulary_without_the_weights(tmp_path):
    options_file, weight_file = tiny.write_word_level(tmp_path, ["cat"])
    words = ["<S>", "</S>", "<UNK>", "cat"]

    assert read_options(weight_file)[1] == words
    assert read_options(weight_file, options_file)[1] == words
    for name in ("b/weights.hdf5", "c/x.safetensors"):
        write_weights(read_weights(tmp_path), tmp_path / name)
        assert read_options((tmp_path / name).parent)[1] == words


def test_an_unknown_name_lists_the_names():
    with pytest.raises(
        WeightFileError,
        match=r"smal: no such file or folder, and not one of the names \['builtin', 'small', 'medium', 'original', ",
    ):
        read_weights("smal")


def test_an_empty_name_is_not_the_current_folder(tmp_path, monkeypatch):
    tiny.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WeightFileError, match="the weights are ''"):
        read_weights("")


def test_missing_files_are_named(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    with pytest.raises(WeightFileError, match="nowhere.hdf5: no such file, expected the file with the weights"):
        read_pair(options_file, tmp_path / "nowhere.hdf5")
    with pytest.raises(OptionsError, match=r"nowhere\.json: cannot be read \(No such file"):
        read_pair(tmp_path / "nowhere.json", weight_file)


def test_swapped_files_are_named(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)

    with pytest.raises(
        FormatError, match=r"options\.json: looks like JSON text, such as an options\.json; expected the weights"
    ):
        read_pair(weight_file, options_file)


def test_what_can_be_written(tmp_path):
    weights = read_pair(*tiny.write(tmp_path))
    with pytest.raises(
        FormatError, match=r"unknown suffix '\.bin'; choose one of \['\.hdf5', '\.h5', '\.safetensors'\]"
    ):
        write_weights(weights, tmp_path / "x.bin")
    with pytest.raises(FormatError, match=r"hdf5 weights are float32, found dtype 'float16'\. Use \.safetensors"):
        write_weights(weights, tmp_path / "x.hdf5", dtype="float16")


def test_a_target_is_checked_before_the_weights_are_read(tmp_path):
    for name, dtype in (("x.bin", "float32"), ("x.hdf5", "bfloat16"), ("x.safetensors", "float8")):
        with pytest.raises(FormatError, match=f"{name}: .*(suffix|dtype)"):
            formats.check_target(tmp_path / name, dtype)
    formats.check_target(tmp_path / "x.safetensors", "bfloat16")


def test_weights_need_no_allennlp(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "allennlp", None)
    write_weights(read_pair(*tiny.write(tmp_path / "a")), tmp_path / "x.safetensors")

    assert read_weights(tmp_path / "x.safetensors").options.output_dim == 12
