import dataclasses
import hashlib
import json
import os

import pytest
import safetensors
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from elmo_plugin.engine.errors import FormatError, WeightFileError
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.formats import read_pair, read_weights, write_weights
from elmo_plugin.formats.weight_set import WeightSet, inference_options
from tests import tiny
from tests.formats.strategies import assert_same_bits, tensors_for, weight_sets

in_folder = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
OPTIONS = BiLmOptions(LstmOptions(3, 2, 2), CharCnnOptions(2, ((1, 3), (2, 1)), n_highway=1), training={"dropout": 0.1})


def make(softmax=False):
    words = ["<S>", "</S>", "<UNK>", "naïve", "日本"]
    output = {"weight": torch.arange(10.0).reshape(5, 2), "bias": torch.arange(5.0)} if softmax else None
    return WeightSet(OPTIONS, tensors_for(OPTIONS, warm=True), output, words if softmax else None)


def rewrite(path, header=None, **tensors):
    content = {**load_file(str(path)), **tensors}
    content = {name: value for name, value in content.items() if value is not None}
    save_file(content, str(path), metadata=None if header is None else {"elmo_plugin": json.dumps(header)})


@in_folder
@given(weight_sets())
def test_any_weights_come_back(tmp_path, weights):
    path = tmp_path / "weights.safetensors"
    write_weights(weights, path)
    back = read_weights(path)

    assert_same_bits(back.everything(), weights.everything())
    assert back.vocabulary == weights.vocabulary
    assert back.options == inference_options(weights.options)


def test_hdf5_through_safetensors_is_bit_exact(tmp_path):
    weights = read_pair(*tiny.write(tmp_path))
    write_weights(weights, tmp_path / "a.safetensors")
    write_weights(read_weights(tmp_path / "a.safetensors"), tmp_path / "b_weights.hdf5")
    back = read_pair(tmp_path / "b_options.json", tmp_path / "b_weights.hdf5")

    assert_same_bits(back.tensors, weights.tensors)


def test_golden_file(tmp_path):
    """Equal weights give equal bytes, today and later."""
    weights = make(softmax=True)
    write_weights(weights, tmp_path / "a.safetensors")
    reordered = dataclasses.replace(weights, tensors=dict(reversed(list(weights.tensors.items()))))
    write_weights(reordered, tmp_path / "b.safetensors")
    content = (tmp_path / "a.safetensors").read_bytes()

    assert content == (tmp_path / "b.safetensors").read_bytes()
    assert hashlib.sha256(content).hexdigest() == "706440d14906b92aa0277972a4b8236fc99820f9994477bbdb337160a84d5af4"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_stored_and_float32_comes_back(tmp_path, dtype):
    weights = read_pair(*tiny.write(tmp_path))
    weights.tensors["warm.hidden"], weights.tensors["warm.cell"] = torch.full((2, 12), 0.1), torch.full((2, 24), 0.1)
    write_weights(weights, tmp_path / "weights.safetensors", dtype=dtype)
    write_weights(weights, tmp_path / "full" / "weights.safetensors")
    back = read_weights(tmp_path / "weights.safetensors").tensors

    assert {value.dtype for value in back.values()} == {torch.float32}
    assert_same_bits(
        back,
        {
            name: value if name.startswith("warm") else value.to(getattr(torch, dtype)).float()
            for name, value in weights.tensors.items()
            if not name.endswith("forget_residual")
        },
    )
    sizes = [os.path.getsize(tmp_path / name) for name in ("weights.safetensors", "full/weights.safetensors")]
    assert sizes[0] < 0.7 * sizes[1]


def test_a_dtype_that_cannot_hold_the_weights_is_refused(tmp_path):
    weights = make()
    weights.tensors["lstm.forward_layers.0.input_weight"][0, 0] = 1e6
    with pytest.raises(WeightFileError, match="in float16: tensor 'lstm.forward_layers.0.input_weight' holds 1 of"):
        write_weights(weights, tmp_path / "weights.safetensors", dtype="float16")
    with pytest.raises(FormatError, match=r"unknown dtype 'int8'; choose one of \['float32', 'float16', 'bfloat16'\]"):
        write_weights(weights, tmp_path / "weights.safetensors", dtype="int8")
    assert not list(tmp_path.iterdir())


def test_tensors_that_share_memory_can_be_written(tmp_path):
    weights = make()
    weights.tensors["lstm.forward_layers.1.bias"] = weights.tensors["lstm.forward_layers.0.bias"]
    write_weights(weights, tmp_path / "weights.safetensors")

    assert_same_bits(read_weights(tmp_path).tensors, weights.tensors)


def test_weights_outlive_their_file(tmp_path):
    weights, path = make(), tmp_path / "weights.safetensors"
    write_weights(weights, path)
    back = read_weights(path)
    with path.open("r+b") as file:
        file.truncate(0)

    assert_same_bits(back.tensors, weights.tensors)


def test_the_softmax_can_be_left_out(tmp_path):
    write_weights(make(softmax=True), tmp_path / "weights.safetensors")

    assert set(read_weights(tmp_path).softmax) == {"weight", "bias"}
    assert read_weights(tmp_path, softmax=False).softmax is None


def test_options_inside_and_options_given(tmp_path):
    path, other = tmp_path / "weights.safetensors", tmp_path / "options.json"
    write_weights(make(), path)
    content = OPTIONS.to_dict()
    content["char_cnn"]["n_characters"] = 261
    other.write_text(json.dumps(content))
    assert read_pair(other, path).options == OPTIONS
    content["lstm"]["cell_clip"] = 3
    other.write_text(json.dumps(content))
    with pytest.raises(WeightFileError, match="options.json describes another architecture .*'cell_clip': 3"):
        read_pair(other, path)


def test_a_foreign_file_needs_options(tmp_path):
    path = tmp_path / "weights.safetensors"
    write_weights(make(), path)
    rewrite(path)
    with pytest.raises(FormatError, match="its header has no 'elmo_plugin' .*not written by elmo_plugin"):
        read_weights(path)
    (tmp_path / "options.json").write_text(json.dumps(OPTIONS.to_dict()))
    assert_same_bits(read_pair(tmp_path / "options.json", path).tensors, make().tensors)
    rewrite(path, bert=torch.zeros(1))
    with pytest.raises(WeightFileError, match=r"bert +surplus +\[1\]"):
        read_pair(tmp_path / "options.json", path)


@pytest.mark.parametrize(
    "header,message",
    [
        ({"format_version": 2}, "its format_version is 2, this elmo_plugin reads 1 to 1. If the file is newer, update"),
        ({}, "its format_version is None"),
        ([], "its format_version is None"),
        ({"format_version": 1, "vocabulary": "abc"}, "vocabulary in its header is not a list of words"),
    ],
)
def test_headers_that_cannot_be_read(tmp_path, header, message):
    path = tmp_path / "weights.safetensors"
    write_weights(make(), path)
    rewrite(path, header)

    with pytest.raises(FormatError, match=f"weights.safetensors: .*{message}"):
        read_weights(path)


@pytest.mark.parametrize("text", ["{", "[" * 100_000], ids=["cut off", "deep"])
def test_header_that_is_not_json(text, tmp_path):
    path = tmp_path / "weights.safetensors"
    save_file({"a": torch.zeros(1)}, str(path), metadata={"elmo_plugin": text})

    with pytest.raises(FormatError, match="the text 'elmo_plugin' in its header is not JSON"):
        read_weights(path)


def test_wrong_tensors_give_one_table(tmp_path):
    path = tmp_path / "weights.safetensors"
    write_weights(make(), path)
    header = {"format_version": 1, "options": OPTIONS.to_dict()}
    rewrite(path, header, **{"lstm.forward_layers.0.bias": None, "token_encoder.projection.bias": torch.zeros(3)})
    with pytest.raises(WeightFileError, match=r"1 missing, 0 surplus, 1 of another shape"):
        read_weights(path)


def test_whole_numbers_are_refused(tmp_path):
    path = tmp_path / "weights.safetensors"
    write_weights(make(), path)
    rewrite(
        path,
        {"format_version": 1, "options": OPTIONS.to_dict()},
        **{"token_encoder.projection.bias": torch.zeros(2, dtype=torch.int32)},
    )
    with pytest.raises(WeightFileError, match="'token_encoder.projection.bias' holds I32, expected one of"):
        read_weights(path)


@in_folder
@given(data=st.data())
def test_a_file_cut_off_anywhere_is_refused(tmp_path, data):
    whole, cut = tmp_path / "whole" / "w.safetensors", tmp_path / "cut.safetensors"
    if not whole.exists():
        write_weights(make(), whole)
    content = whole.read_bytes()
    cut.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])

    with pytest.raises((FormatError, WeightFileError), match="cut.safetensors"):
        read_weights(cut)


def test_where_nothing_can_be_written_is_named(tmp_path, monkeypatch):
    def fail(*arguments, **keywords):
        raise safetensors.SafetensorError("I/O error: No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(WeightFileError, match="weights.safetensors: cannot be written .*No space left"):
        write_weights(make(), tmp_path / "weights.safetensors")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    weights, path = make(), tmp_path / "weights.safetensors"
    write_weights(weights, path)
    before = path.read_bytes()

    def fail(tensors, name, metadata):
        with open(name, "wb") as file:
            file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        write_weights(weights, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["weights.safetensors"]
