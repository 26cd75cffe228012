"""The layers' weights out of archives, ours and AllenNLP's, and out of none that is not one."""

import io
import json
import os
import pickle
import tarfile

import pytest
import torch

from elmo_plugin.engine import FormatError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats.layer_mixes import mixes_in, places, read_layer_mixes
from elmo_plugin.formats.record import BiLmRecord
from tests import tiny

PREFIX = "_text_field_embedder.token_embedder_elmo."


def our_state(layers=3, mixes=1, prefix=PREFIX):
    record = BiLmRecord(BiLmOptions.from_dict(tiny.options(), source="test"), "somewhere")
    state = {prefix + "_extra_state": record.to_tensor(), "other": torch.zeros(2)}
    for mix in range(mixes):
        state[f"{prefix}elmo.mixes.{mix}.weights"] = torch.arange(float(layers)) * (1 + mix)
        state[f"{prefix}elmo.mixes.{mix}.gamma"] = torch.tensor([0.5 + mix])
    return state


def archive(path, state, config=None, **members):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    contents = {"config.json": json.dumps(config or {"model": {}}).encode(), "weights.th": buffer.getvalue(), **members}
    with tarfile.open(path, "w:gz") as target:
        for name, content in contents.items():
            if content is not None:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                target.addfile(info, io.BytesIO(content))
    return path


def config(layers=None, **more):
    embedder = {"type": "elmo"} if layers is None else {"type": "elmo", "layers": layers}
    return {"text_field_embedder": {"token_embedders": {"elmo": embedder}}, **more}


def test_our_mixes_are_read_from_an_archive(tmp_path):
    path = archive(tmp_path / "model.tar.gz", our_state(mixes=2), {"model": config()})

    first, second = read_layer_mixes(path)

    assert (first.place, first.layers, first.gamma, first.module) == ("input", [0, 1, 2], 0.5, PREFIX.rstrip("."))
    assert first.weights == pytest.approx(torch.softmax(torch.arange(3.0), 0).tolist())
    assert (second.place, second.gamma) == ("output", 1.5)
    assert second.weights == pytest.approx(torch.softmax(2 * torch.arange(3.0), 0).tolist())


@pytest.mark.parametrize("layers,expected", [([2, 0], [2, 0]), ("last", [2]), (1, [1])], ids=str)
def test_chosen_layers_keep_their_numbers(layers, expected):
    (mix,) = mixes_in(our_state(layers=len(expected)), config(layers), "test")

    assert mix.layers == expected


def test_mixes_of_allennlp_are_read():
    module = "_elmo."
    state = {f"{module}scalar_mix_0.scalar_parameters.{layer}": torch.tensor([float(layer)]) for layer in (2, 0, 1)}
    state[f"{module}scalar_mix_0.gamma"] = torch.tensor([3.0])

    (mix,) = mixes_in(state, {"type": "bcn"}, "test")

    assert (mix.module, mix.place, mix.layers, mix.gamma) == ("_elmo", "input", [0, 1, 2], 3.0)
    assert mix.weights == pytest.approx(torch.softmax(torch.arange(3.0), 0).tolist())


def test_places_of_mixes():
    assert places({"encoder": {"type": "elmo_output"}}, 1) == ["output"]
    assert places({}, 1) == ["input"]
    assert places({}, 4) == ["input", "output", "mix 3", "mix 4"]


def claims_much():
    """A tensor of four bytes that says that it has 10^12 elements."""
    state = our_state()
    state[f"{PREFIX}elmo.mixes.0.weights"] = torch.zeros(1).expand(10**12)
    return state


@pytest.mark.parametrize(
    "state,message",
    [
        ({"weight": torch.zeros(3)}, "has no weights of biLM layers"),
        (our_state(layers=2), "a mix of 2 layers in _text_field_embedder.token_embedder_elmo"),
        ({**our_state(), f"{PREFIX}elmo.mixes.0.gamma": torch.tensor([float("nan")])}, "gamma' is not finite"),
        ({**our_state(), f"{PREFIX}elmo.mixes.0.gamma": None}, "gamma' is NoneType"),
        ({**our_state(), f"{PREFIX}elmo.mixes.0.weights": torch.zeros(0)}, "has 0 numbers"),
        (claims_much(), "has 1,000,000,000,000 numbers"),
    ],
    ids=["none", "other layers", "nan", "no tensor", "empty", "huge"],
)
def test_what_has_no_weights_of_layers_is_named(state, message):
    with pytest.raises(FormatError, match=f"^test: .*{message}"):
        mixes_in(state, config(), "test")


@pytest.mark.parametrize(
    "content,message",
    [
        (b"{", "config.json: "),
        (b"[]", "config.json: "),
        (b'{"model": 3}', '"model" is int'),
        (b"\xff", "config.json: "),
        (b"[" * 100_000, "config.json: "),
        (None, "has no config.json"),
    ],
    ids=["cut", "list", "number", "bytes", "deep", "missing"],
)
def test_a_configuration_that_is_none_is_named(content, message, tmp_path):
    path = archive(tmp_path / "model.tar.gz", our_state(), **{"config.json": content})

    with pytest.raises(FormatError, match=f"^mine: .*{message}"):
        read_layer_mixes(path, "mine")


def test_no_code_of_an_archive_runs(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "was-here"),)

    for content in (pickle.dumps(Evil()), pickle.dumps({"a": Evil()}, protocol=2)):
        path = archive(tmp_path / "model.tar.gz", our_state(), **{"weights.th": content})
        with pytest.raises(FormatError, match="cannot be read as weights"):
            read_layer_mixes(path)
    path = archive(tmp_path / "model.tar.gz", {**our_state(), "evil": Evil()})
    with pytest.raises(FormatError, match="cannot be read as weights"):
        read_layer_mixes(path)

    assert not (tmp_path / "was-here").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    path = archive(tmp_path / "model.tar.gz", our_state(), zeros=bytes(1 << 22))

    assert path.stat().st_size < 1 << 18
    assert len(read_layer_mixes(path, limit=1 << 23)) == 1
    with pytest.raises(FormatError, match="unpacks to more than 1,048,576 bytes"):
        read_layer_mixes(path, limit=1 << 20)


def test_what_comes_behind_the_last_member_counts_too(tmp_path):
    import gzip

    path = archive(tmp_path / "model.tar.gz", our_state())
    with gzip.open(path) as file:
        content = file.read()
    path.write_bytes(gzip.compress(content + bytes(1 << 22)))

    with pytest.raises(FormatError, match="unpacks to more than"):
        read_layer_mixes(path, limit=1 << 21)


def test_files_that_are_no_archives_are_named(tmp_path):
    path = tmp_path / "text"
    path.write_text("a text")
    with pytest.raises(FormatError, match="^text: not a tar archive"):
        read_layer_mixes(path, "text")
    whole = archive(tmp_path / "model.tar.gz", our_state()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="text: "):
        read_layer_mixes(path, "text")
