import collections
import inspect
import os
import pickle
import tarfile
import zipfile

import pytest
import torch

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats.torch_file import RESTRICTED_PICKLE, load_state


class Evil:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.fixture(params=["own", "restricted"])
def load(request, monkeypatch):
    """With PyTorch's own restriction, and with ours, which a PyTorch before 1.13 needs."""
    if request.param == "restricted":
        original = torch.load

        def old_load(path, map_location=None, pickle_module=None):
            known = inspect.signature(original).parameters
            extras = {"weights_only": False} if "weights_only" in known else {}
            return original(path, map_location=map_location, pickle_module=pickle_module, **extras)

        monkeypatch.setattr(torch, "load", old_load)
    return load_state


@pytest.mark.parametrize("zipped", [True, False])
def test_state_dicts(tmp_path, load, zipped):
    state = collections.OrderedDict(
        a=torch.arange(6.0).reshape(2, 3),
        b=torch.nn.Parameter(torch.ones(2, dtype=torch.float16)),
        c=torch.zeros(3, dtype=torch.uint8),
    )
    torch.save(state, tmp_path / "x", _use_new_zipfile_serialization=zipped)
    found = load(tmp_path / "x", "x")

    assert list(found) == ["a", "b", "c"]
    for name, tensor in state.items():
        assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor)


@pytest.mark.parametrize("zipped", [True, False])
def test_code_is_not_run(tmp_path, load, zipped):
    target = tmp_path / "made"
    torch.save({"a": Evil(target)}, tmp_path / "x", _use_new_zipfile_serialization=zipped)
    with pytest.raises(FormatError, match="x: cannot be read as weights saved by PyTorch"):
        load(tmp_path / "x", "x")
    with (tmp_path / "x").open("wb") as file:
        pickle.dump(Evil(target), file)
    with pytest.raises(FormatError, match="x: cannot be read as weights saved by PyTorch"):
        load(tmp_path / "x", "x")
    assert not target.exists()


def test_records_that_were_compressed_are_no_numbers(tmp_path, load):
    torch.save({"a": torch.arange(6.0)}, tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as one, zipfile.ZipFile(tmp_path / "y", "w", zipfile.ZIP_DEFLATED) as other:
        for name in one.namelist():
            other.writestr(name, one.read(name))
    with pytest.raises(FormatError, match="y: 'x/data.pkl' is compressed, expected .*Take the original"):
        load(tmp_path / "y", "y")


def test_other_content(tmp_path, load):
    torch.save([1, 2], tmp_path / "x")
    with pytest.raises(FormatError, match="x: holds a list, expected a state dict"):
        load(tmp_path / "x", "x")


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "torch.storage._load_from_bytes", "torch.hub.load"])
def test_names_that_are_refused(tmp_path, name):
    module, _, attribute = name.rpartition(".")
    (tmp_path / "x").write_bytes(b"c" + module.encode() + b"\n" + attribute.encode() + b"\n.")
    with (tmp_path / "x").open("rb") as file, pytest.raises(pickle.UnpicklingError, match="weights do not need"):
        RESTRICTED_PICKLE.load(file)


@pytest.mark.skipif("weights_only" not in inspect.signature(torch.load).parameters, reason="PyTorch before 1.13")
def test_no_advice_to_run_code(tmp_path):
    torch.save({"a": Evil(tmp_path / "made")}, tmp_path / "x")
    with tarfile.open(tmp_path / "y", "w") as file:
        file.add(tmp_path / "x", "storages")
    for name, reason in (("x", "asks for .*mkdir, which weights do not need"), ("y", "cannot be read")):
        with pytest.raises(FormatError, match=reason) as caught:
            load_state(tmp_path / name, name)
        assert "weights_only` set to `False" not in str(caught.value) and "arbitrary code" not in str(caught.value)
