import gzip
import os
import zipfile
from pathlib import Path

import h5py
import pytest
import torch
from safetensors.torch import save_file

from elmo_plugin.engine.errors import FormatError, WeightFileError
from elmo_plugin.formats.recognise import checkpoint_named, kind_of, kind_of_bytes, weight_file_in
from tests.formats import bundles


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file["a"] = [1.0]


def write_safetensors(path):
    save_file({"a": torch.zeros(1)}, str(path))


def write_gzip(path):
    with gzip.open(path, "wb") as file:
        file.write(b"a")


def write_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", "b")


def write_pytorch(path):
    torch.save({"a": torch.zeros(1)}, str(path))


def write_checkpoint(path):
    path.write_bytes(bundles.table({b"": bundles.number_field(1, 1)}))


@pytest.mark.parametrize("suffix", [".hdf5", ".safetensors", ".txt", ""])
@pytest.mark.parametrize(
    "write,kind",
    [
        (write_hdf5, "hdf5"),
        (write_safetensors, "safetensors"),
        (write_checkpoint, "tf_checkpoint"),
        (write_gzip, "archive"),
        (write_pytorch, "archive"),
        (write_zip, "zip"),
    ],
)
def test_content_counts_not_the_suffix(tmp_path, write, kind, suffix):
    path = tmp_path / f"weights{suffix}"
    write(path)

    assert kind_of(path) == kind
    assert kind_of_bytes(path.read_bytes()[:64]) == {"tf_checkpoint": None, "zip": "archive"}.get(kind, kind)


@pytest.mark.parametrize("write,kind", [(write_pytorch, "archive"), (write_zip, "zip")])
def test_a_zip_file_that_is_cut_off(tmp_path, write, kind):
    """Its list of contents is at its end."""
    write(tmp_path / "x")
    content = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(content[:-30])

    assert kind_of(tmp_path / "x") == kind


@pytest.mark.parametrize(
    "content,message",
    [
        (b"", "the file is empty; expected the weights of a biLM as hdf5, safetensors,.*Was it copied completely"),
        (b"\x80\x04\x95", "looks like a pickle, such as .*ELMoForManyLangs"),
        (b"version https://git-lfs.github.com/spec/v1\n", "looks like a Git LFS pointer.*git lfs pull"),
        (b"\n<!DOCTYPE html>", "looks like an HTML or XML page; the download probably failed"),
        (b'{"lstm": {"dim": 3}}', "looks like JSON text, such as an options.json"),
        (b"the cat sat on the mat", r"looks like no known format \(begins with b'the cat '\)"),
        (b"\x89HDF", "looks like no known format"),
        (b'model_checkpoint_path: "model.ckpt-1"', "the list of a folder's TensorFlow checkpoints; name the folder"),
        (b"\x00" * 40, "looks like no known format"),
    ],
)
def test_foreign_files_are_named(tmp_path, content, message):
    path = tmp_path / "weights.hdf5"
    path.write_bytes(content)

    with pytest.raises(FormatError, match=message):
        kind_of(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WeightFileError, match="pipe: no regular file"):
        kind_of(tmp_path / "pipe")


def test_a_folder_with_one_weight_file(tmp_path):
    (tmp_path / "options.json").write_text("{}")
    (tmp_path / "readme").write_text("hello")
    (tmp_path / "sub").mkdir()
    write_hdf5(tmp_path / "any name")

    assert weight_file_in(tmp_path) == tmp_path / "any name"


def test_a_folder_with_several_weight_files(tmp_path):
    write_hdf5(tmp_path / "b.hdf5")
    write_safetensors(tmp_path / "a.safetensors")

    with pytest.raises(WeightFileError, match=r"several files that may be weights: a\.safetensors, b\.hdf5\. Name one"):
        weight_file_in(tmp_path)


def test_a_folder_of_allennlp(tmp_path):
    write_gzip(tmp_path / "model.tar.gz")
    assert weight_file_in(tmp_path) == tmp_path / "model.tar.gz"
    write_zip(tmp_path / "best.th")
    assert weight_file_in(tmp_path) == tmp_path / "best.th"
    write_zip(tmp_path / "weights.th")
    assert weight_file_in(tmp_path) == tmp_path / "weights.th"


@pytest.mark.parametrize(
    "names,message",
    [
        ([], "It holds no files"),
        (["a.txt"], "It holds a.txt"),
        (["token_embedder.pkl"], "It holds token_embedder.pkl"),
        ([str(number) for number in range(12)], "It holds 0, 1, 10, 11, 2, 3, 4, 5, 6, 7, ..."),
    ],
)
def test_a_folder_without_weights(tmp_path, names, message):
    for name in names:
        (tmp_path / name).write_text("x")

    with pytest.raises(WeightFileError, match=f"no weights in this folder.*{message}"):
        weight_file_in(tmp_path)


def test_the_index_of_a_checkpoint_that_is_cut_off(tmp_path):
    (tmp_path / "model.ckpt-1.index").write_bytes(bundles.table({b"": b""})[:-1])

    assert weight_file_in(tmp_path) == tmp_path / "model.ckpt-1.index"
    with pytest.raises(FormatError, match="looks like the index of a TensorFlow checkpoint, but without its end"):
        kind_of(tmp_path / "model.ckpt-1.index")


def test_hdf5_wins_over_the_checkpoint_that_it_was_made_from(tmp_path):
    write_checkpoint(tmp_path / "model.ckpt-1.index")
    assert weight_file_in(tmp_path) == tmp_path / "model.ckpt-1.index"
    write_hdf5(tmp_path / "model.hdf5")
    assert weight_file_in(tmp_path) == tmp_path / "model.hdf5"


def test_names_of_a_checkpoint(tmp_path):
    write_checkpoint(tmp_path / "x.index")
    for name in ("x", "x.meta", "x.data-00000-of-00001"):
        assert checkpoint_named(tmp_path / name) == tmp_path / "x.index"
    for name in ("y", "x.hdf5", ".meta"):
        assert checkpoint_named(tmp_path / name) is None


def test_no_permission(tmp_path, monkeypatch):
    path = tmp_path / "weights.hdf5"
    write_hdf5(path)

    def refuse(self, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(WeightFileError, match="weights.hdf5: cannot be read .Permission denied"):
        kind_of(path)
