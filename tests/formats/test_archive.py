"""The biLM out of a trained model, without AllenNLP: folder, file or tar; what is not one is named."""

import inspect
import io
import json
import os
import pickle
import tarfile
from collections import OrderedDict

import h5py
import numpy as np
import pytest
import torch

from elmo_plugin.engine import BiLm, FormatError, WeightFileError
from elmo_plugin.formats import read_options, read_pair, read_weights, unpacked_size, write_weights
from elmo_plugin.formats.allennlp_names import BILM_PREFIX, to_allennlp
from elmo_plugin.formats.archive import find_saved, read, read_saved
from elmo_plugin.formats.record import METADATA, BiLmRecord
from tests import tiny


@pytest.fixture
def original(tmp_path):
    return read_pair(*tiny.write(tmp_path / "bilm"))


def state_of(weights, prefix="model.elmo.", **changes):
    """The state dict of a model with a biLM under `prefix`."""
    state = OrderedDict({"other.weight": torch.ones(3)})
    record = BiLmRecord(weights.options, **{"source": "somewhere", **changes})
    state[prefix + "_extra_state"] = record.to_tensor()
    for name, tensor in weights.tensors.items():
        state[prefix + record.tensors + name] = tensor
    return state


def archive_of(state, path, name="weights.th", config=b"{}"):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    with tarfile.open(path, "w:gz") as target:
        for member, content in (("config.json", config), (name, buffer.getvalue())):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            target.addfile(info, io.BytesIO(content))
    return path


def assert_same(actual, expected):
    assert actual.options == expected.options
    assert {name: tensor.numpy().tobytes() for name, tensor in actual.tensors.items()} == {
        name: tensor.numpy().tobytes() for name, tensor in expected.tensors.items()
    }


@pytest.mark.parametrize("form", ["archive", "folder", "training", "file"])
def test_every_form_is_read(original, tmp_path, form):
    state = state_of(original)
    if form == "archive":
        path = archive_of(state, tmp_path / "model.tar.gz")
    else:
        path = tmp_path / {"folder": "weights.th", "training": "best.th", "file": "any.th"}[form]
        torch.save(state, path)
        path = path if form == "file" else tmp_path

    weights = read(path)

    assert_same(weights, original)
    assert "model.elmo.bilm" in weights.source
    assert BiLm(weights.options).load_tensors(weights.tensors, "test") is None


def test_export_of_an_archive_is_bit_exact(original, tmp_path):
    path = archive_of(state_of(original), tmp_path / "model.tar.gz")

    (tmp_path / "out").mkdir()
    write_weights(read(path), tmp_path / "out" / "weights.hdf5")

    with h5py.File(tmp_path / "bilm" / "weights.hdf5") as before, h5py.File(tmp_path / "out" / "weights.hdf5") as after:
        names = []
        before.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert len(names) > 20
        for name in names:
            assert np.array_equal(before[name][...].view("int32"), after[name][...].view("int32")), name


def test_nothing_else_of_a_malicious_archive_is_written(original, tmp_path):
    path = tmp_path / "deep" / "er" / "model.tar.gz"
    path.parent.mkdir(parents=True)
    archive_of(state_of(original), path)
    with tarfile.open(path) as source:
        members = [(member, source.extractfile(member).read()) for member in source.getmembers()]
    with tarfile.open(path, "w:gz") as target:
        for member, content in [(tarfile.TarInfo("../../escaped.txt"), b"x"), *members]:
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))

    assert_same(read(path), original)
    assert not list(tmp_path.rglob("escaped.txt"))


@pytest.mark.skipif("weights_only" not in inspect.signature(torch.load).parameters, reason="PyTorch before 1.13")
def test_code_in_a_file_of_weights_is_not_run(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "harm"),))

    torch.save({"x": Harmful()}, tmp_path / "weights.th")

    with pytest.raises(FormatError, match="cannot be read as weights"):
        read(tmp_path)
    assert not (tmp_path / "harm").exists()


def test_names_of_allennlp_are_read_through_the_metadata(original, tmp_path):
    state = OrderedDict()
    for name, tensor in to_allennlp(original.tensors).items():
        state["model._elmo." + name] = tensor
    record = BiLmRecord(original.options, "somewhere", tensors="", layout="allennlp")
    state._metadata = OrderedDict({"model._elmo." + BILM_PREFIX.rstrip("."): {METADATA: record.to_json()}})
    torch.save(state, tmp_path / "best.th")

    weights = read(tmp_path)

    assert weights.options == original.options
    expected = {name for name in original.tensors if not name.endswith("forget_residual")}
    assert set(weights.tensors) == expected
    assert all(torch.equal(weights.tensors[name], original.tensors[name]) for name in expected)


def test_softmax_and_vocabulary_come_along(original, tmp_path):
    names = {"weight": "softmax.weight", "bias": "softmax.bias"}
    words = ["<S>", "</S>", "<UNK>", "a"]
    state = state_of(original, softmax=names, vocabulary=words)
    state["model.elmo.softmax.weight"], state["model.elmo.softmax.bias"] = torch.ones(4, 6), torch.zeros(4)
    torch.save(state, tmp_path / "best.th")

    weights = read(tmp_path)

    assert weights.vocabulary == words
    assert torch.equal(weights.softmax["weight"], torch.ones(4, 6))
    weights.check()


def test_format_from_before_pytorch_1_6_is_read(original, tmp_path):
    torch.save(state_of(original), tmp_path / "best.th", _use_new_zipfile_serialization=False)

    assert_same(read(tmp_path), original)


def test_one_of_several_is_chosen_by_its_module(original, tmp_path):
    other = read_pair(*tiny.write(tmp_path / "other", seed=1))
    torch.save({**state_of(original, "a."), **state_of(other, "b.")}, tmp_path / "best.th")

    assert_same(read(tmp_path, module="b"), other)
    with pytest.raises(FormatError, match=r"several biLMs that differ.*'a', 'b'\. Read one with .*module="):
        read(tmp_path)
    with pytest.raises(FormatError, match="module 'c' has no biLM; those that have one: 'a', 'b'"):
        read(tmp_path, module="c")


def test_several_that_are_equal_are_one(original, tmp_path):
    torch.save({**state_of(original, "a."), **state_of(original, "b.")}, tmp_path / "best.th")

    assert_same(read(tmp_path), original)


def test_archive_packed_by_hand_is_read(original, tmp_path):
    archive_of(state_of(original), tmp_path / "model.tar.gz", name="./weights.th")

    assert_same(read(tmp_path / "model.tar.gz"), original)


def test_stack_of_an_encoder_is_no_bilm(original, tmp_path):
    torch.save({**state_of(original), **state_of(original, "encoder.", layout="lstm")}, tmp_path / "best.th")

    assert_same(read(tmp_path), original)


def test_saved_biLM_is_found_by_what_the_configuration_called_it(original, tmp_path):
    torch.save(state_of(original, source="its name"), tmp_path / "weights.th")

    assert_same(read_saved(tmp_path, "weights.th", "its name"), original)
    assert read_saved(tmp_path, "weights.th", "another name") is None
    assert read_saved(tmp_path, "best.th", "its name") is None
    assert read_saved(tmp_path, "weights.th", "its name", part="lstm") is None
    assert find_saved(tmp_path, "weights.th", "its name")[2].options == original.options


def test_tensors_outlive_the_file(original, tmp_path):
    path = archive_of(state_of(original), tmp_path / "model.tar.gz")
    weights = read(path)
    path.unlink()

    assert_same(weights, original)


@pytest.mark.parametrize(
    "content,match",
    [
        (None, "neither weights.th nor best.th"),
        (b"", "cannot be read as weights"),
        (b"PK\x03\x04 truncated", "cannot be read as weights"),
        (pickle.dumps([1]), "cannot be read as weights|holds a list"),
    ],
    ids=["nothing", "empty", "truncated", "foreign"],
)
def test_damaged_folders_are_named(tmp_path, content, match):
    if content is not None:
        (tmp_path / "best.th").write_bytes(content)

    with pytest.raises(FormatError, match=match) as caught:
        read(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_missing_path_is_named(tmp_path):
    with pytest.raises(FormatError, match="no such file or folder"):
        read(tmp_path / "nowhere")


def test_truncated_archive_is_named(original, tmp_path):
    path = archive_of(state_of(original), tmp_path / "model.tar.gz")
    path.write_bytes(path.read_bytes()[:500])

    with pytest.raises(FormatError, match="model.tar.gz"):
        read(path)


def test_damage_anywhere_in_an_archive_is_named(original, tmp_path):
    path = archive_of(state_of(original), tmp_path / "model.tar.gz")
    whole = path.read_bytes()

    for place in range(0, len(whole), len(whole) // 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert_same(read(path), original)  # a byte that says nothing about the weights, such as the time
        except FormatError as error:
            assert "model.tar.gz" in str(error)


def test_damage_in_the_format_from_before_pytorch_1_6_is_named(original, tmp_path):
    path = tmp_path / "best.th"
    torch.save(state_of(original), path, _use_new_zipfile_serialization=False)
    whole = path.read_bytes()

    for place in range(0, 3000, 50):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        try:
            read(path)
        except (FormatError, WeightFileError) as error:
            assert "best.th" in str(error)


@pytest.mark.parametrize(
    "name,value,match",
    [
        ("model.elmo.bilm.lstm.forward_layers.0.bias", torch.zeros(48, dtype=torch.int64), "is torch.int64"),
        ("model.elmo.bilm.lstm.forward_layers.0.bias", 5, "is int"),
        ("model.elmo.softmax.bias", None, "is NoneType"),
    ],
)
def test_what_is_no_weight_is_named(original, tmp_path, name, value, match):
    softmax = {"weight": "softmax.weight", "bias": "softmax.bias"}
    state = state_of(original, "model.elmo.", softmax=softmax if value is None else None)
    state["model.elmo.softmax.weight"] = torch.zeros(2, 6)
    state[name] = value
    torch.save(state, tmp_path / "best.th")

    with pytest.raises(FormatError, match=f"{name}. {match}, expected a tensor of floating-point numbers"):
        read(tmp_path)


@pytest.mark.parametrize(
    "value",
    [torch.zeros(1).expand(10**12), torch.zeros(48).to_sparse(), torch.empty(48, device="meta")],
    ids=["one number for many", "sparse", "no numbers"],
)
@pytest.mark.parametrize("name", ["model.elmo.bilm.lstm.forward_layers.0.bias", "model.elmo.softmax.bias"])
def test_what_stores_less_than_it_says_is_refused(original, tmp_path, name, value):
    softmax = {"weight": "softmax.weight", "bias": "softmax.bias"}
    state = state_of(original, "model.elmo.", softmax=softmax)
    state.update({"model.elmo.softmax.weight": torch.zeros(2, 6), "model.elmo.softmax.bias": torch.zeros(2)})
    state[name] = value
    torch.save(state, tmp_path / "best.th")

    with pytest.raises(FormatError, match="cannot be read as weights|numbers, which are not all in the file"):
        read(tmp_path)


def test_a_record_without_its_bytes_is_none(original, tmp_path):
    state = state_of(original)
    state["model.elmo._extra_state"] = torch.zeros(5, dtype=torch.uint8).to_sparse()
    torch.save(state, tmp_path / "best.th")

    with pytest.raises(FormatError, match="no biLM is in this model"):
        read(tmp_path)


def test_archive_without_weights_is_named(original, tmp_path):
    path = archive_of(state_of(original), tmp_path / "model.tar.gz", name="others.th")

    with pytest.raises(FormatError, match="not an archive of AllenNLP, it has no weights.th"):
        read(path)


def test_model_without_a_bilm_is_named(tmp_path):
    torch.save({"x": torch.ones(2)}, tmp_path / "best.th")

    with pytest.raises(FormatError, match="no biLM is in this model"):
        read(tmp_path)


def test_record_is_plain_text(original):
    data = json.loads(bytes(state_of(original)["model.elmo._extra_state"].numpy()))

    assert data["options"]["lstm"]["projection_dim"] == 6


def test_options_are_read_without_a_tensor(original, tmp_path, monkeypatch):
    words = ["<S>", "</S>", "<UNK>", "a"]
    archive_of(state_of(original, vocabulary=words), tmp_path / "model.tar.gz")
    monkeypatch.setattr("elmo_plugin.formats.archive.float32_copy", lambda *_: pytest.fail("a tensor was read"))

    assert read_options(tmp_path / "model.tar.gz") == (original.options, words)


def test_a_model_that_knows_its_options_takes_no_others(original, tmp_path):
    archive_of(state_of(original), tmp_path / "model.tar.gz")
    for reader in (read_pair, lambda options_file, model: read_options(model, options_file)):
        with pytest.raises(FormatError, match="model.tar.gz: looks like a trained model, which knows its own options"):
            reader(tmp_path / "bilm" / "options.json", tmp_path / "model.tar.gz")


def test_options_of_several_that_differ(original, tmp_path):
    other = read_pair(*tiny.write(tmp_path / "other", clip=2.0))
    torch.save({**state_of(original, "a."), **state_of(other, "b.")}, tmp_path / "weights.th")
    with pytest.raises(FormatError, match="several biLMs that differ"):
        read_options(tmp_path)


def stock_state(weights, prefix="text_field_embedder.token_embedder_elmo._elmo."):
    """The state dict of a model with AllenNLP's own `Elmo`."""
    state = {prefix + name: tensor for name, tensor in to_allennlp(weights.tensors).items()}
    beside = {"scalar_mix_0.gamma": torch.ones(1), BILM_PREFIX + "_word_embedding.weight": torch.ones(2)}
    return {**state, **{prefix + name: tensor for name, tensor in beside.items()}}


def test_allennlps_own_elmo_with_its_options(original, tmp_path):
    archive_of(stock_state(original), tmp_path / "model.tar.gz")
    options_file = tmp_path / "bilm" / "options.json"
    weights = read_pair(options_file, tmp_path / "model.tar.gz")

    assert weights.options == original.options
    expected = {name for name in original.tensors if not name.endswith("forget_residual")}
    assert set(weights.tensors) == expected
    assert all(torch.equal(weights.tensors[name], original.tensors[name]) for name in expected)
    assert read_options(tmp_path / "model.tar.gz", options_file) == (original.options, None)
    with pytest.raises(FormatError, match="saved without its options, and its config.json names no options.json. Name"):
        read_weights(tmp_path / "model.tar.gz")


@pytest.mark.parametrize("form", ["archive", "folder"])
def test_allennlps_own_elmo_with_the_options_of_its_configuration(form, original, tmp_path):
    options_file = str(tmp_path / "bilm" / "options.json")
    embedder = {"type": "elmo_token_embedder", "options_file": options_file, "weight_file": "gone"}
    config = json.dumps({"model": {"embedders": [{"elmo": embedder}, {"again": embedder}]}})
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "model.tar.gz"
    archive_of(stock_state(original), path, config=config.encode())
    if form == "folder":
        path.unlink()
        torch.save(stock_state(original), tmp_path / "model" / "best.th")
        (tmp_path / "model" / "config.json").write_text(config)

    assert read_weights(tmp_path / "model").options == original.options


def test_an_archive_that_would_fill_the_disk_is_refused(tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as target:
        info = tarfile.TarInfo("weights.th")
        info.size = unpacked_size.ALWAYS_ALLOWED + 1
        target.addfile(info, io.BytesIO(bytes(info.size)))
    monkeypatch.setattr("shutil.copyfileobj", lambda *_: pytest.fail("was unpacked"))
    with pytest.raises(FormatError, match="refused, because its .* bytes would become"):
        read(tmp_path / "model.tar.gz")
