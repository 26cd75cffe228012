import json
import os
import sys

import h5py
import numpy as np
import pytest

pytest.importorskip("allennlp")

from allennlp.commands import parse_args  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402

from elmo_plugin.commands import elmo_convert  # noqa: E402
from elmo_plugin.engine.errors import FormatError, WeightFileError  # noqa: E402
from elmo_plugin.formats import read_weights  # noqa: E402
from tests import tiny  # noqa: E402
from tests.formats import bundles  # noqa: E402
from tests.formats.strategies import assert_same_bits  # noqa: E402


@pytest.fixture
def run(monkeypatch, capsys):
    def run_with(*arguments):
        monkeypatch.setattr(sys, "argv", ["allennlp", "elmo-convert", *map(str, arguments)])
        _, args = parse_args("allennlp")
        args.func(args)
        return capsys.readouterr().out

    return run_with


def contents(path):
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None)
    return found


@pytest.mark.parametrize("layers", [1, 2])
def test_a_checkpoint_becomes_what_bilm_tf_dumps(tmp_path, run, layers):
    """Bit for bit, and verified in the same call."""
    bundles.write_checkpoint(tmp_path / "training", softmax=5, layers=layers)
    (tmp_path / "training" / "vocabulary.txt").write_text("<S>\n</S>\n<UNK>\na\nb\n")
    target = tmp_path / "export" / "elmo_weights.hdf5"
    output = run(tmp_path / "training", target, "--verify")

    _, dumped = tiny.write(tmp_path / "dump", layers=layers)
    assert_same_bits(contents(target), contents(dumped))
    assert json.loads((target.parent / "elmo_options.json").read_text())["char_cnn"]["n_characters"] == 262
    assert output.splitlines() == [
        f"{target}: written",
        "The softmax of the language model is left out; --include-softmax keeps it.",
        *[f"layer {layer}: largest difference 0" for layer in range(layers + 1)],
        "Within 1e-06 over 25 words.",
    ]


def test_softmax_on_request(tmp_path, run):
    bundles.write_checkpoint(tmp_path / "training", softmax=5)
    words = ["<S>", "</S>", "<UNK>", "a", "b"]
    (tmp_path / "training" / "vocabulary.txt").write_text("\n".join(words))
    for name in ("x.hdf5", "x.safetensors"):
        assert "left out" not in run(tmp_path / "training", tmp_path / name, "--include-softmax")
        found = read_weights(tmp_path / name)
        assert np.array_equal(found.softmax["weight"], bundles.variables(tiny.options(), 0, 5)["lm/softmax/W"])
        assert found.vocabulary == words


def test_words_of_a_word_level_model_are_kept(tmp_path, run):
    tiny.write_word_level(tmp_path / "a", ["cat"])
    run(tmp_path / "a", tmp_path / "x.safetensors", "--verify")

    assert read_weights(tmp_path / "x.safetensors").vocabulary == ["<S>", "</S>", "<UNK>", "cat"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_the_size_within_its_tolerance_and_not_within_none(tmp_path, run, dtype):
    tiny.write(tmp_path / "a")
    (tmp_path / "text").write_text("The cat\n\nsat on the mat .\n")
    arguments = [tmp_path / "a", tmp_path / "x.safetensors", "--dtype", dtype, "--verify", "--text", tmp_path / "text"]

    assert "over 7 words" in run(*arguments)
    with pytest.raises(SystemExit) as left:
        run(*arguments, "--force", "--tolerance", "1e-9")
    assert left.value.code == 1


def test_what_is_written_wrongly_is_found(tmp_path, run, monkeypatch, capsys):
    tiny.write(tmp_path / "a")
    tiny.write(tmp_path / "b", seed=1)
    right = read_weights(tmp_path / "b")
    monkeypatch.setattr("elmo_plugin.formats.read_weights", lambda *args, **kw: read_weights(tmp_path / "a"))
    with pytest.raises(SystemExit):
        elmo_convert._verify(right, tmp_path / "x.hdf5", [["a"]], 1e-6)
    assert "differs from" in capsys.readouterr().out


def test_vectors_that_are_no_numbers_are_not_within_any_tolerance(tmp_path, run, monkeypatch, capsys):
    tiny.write(tmp_path / "a")
    weights = read_weights(tmp_path / "a")
    monkeypatch.setattr("elmo_plugin.formats.comparison.largest_differences", lambda *args: [0.0, float("nan"), 0.0])
    with pytest.raises(SystemExit):
        elmo_convert._verify(weights, tmp_path / "a" / "weights.hdf5", [["a"]], 1e-6)
    assert "layer 1: largest difference nan" in capsys.readouterr().out


def test_options_given_with_the_source(tmp_path, run):
    options_file, weight_file = tiny.write(tmp_path / "a")
    (tmp_path / "a" / "options.json").rename(tmp_path / "o.json")
    run(weight_file, tmp_path / "x.safetensors", "--options-file", tmp_path / "o.json")

    assert read_weights(tmp_path / "x.safetensors").options.lstm.dim == 12


def test_describe(tmp_path, run):
    bundles.write_checkpoint(tmp_path / "training", softmax=5)
    lines = dict(line.split(":", 1) for line in run(tmp_path / "training", "--describe").splitlines())
    lines = {heading: text.strip() for heading, text in lines.items()}

    assert lines.pop("source") == str(tmp_path / "training" / "model.ckpt-0.index")
    fingerprint = lines.pop("fingerprint")
    assert len(fingerprint) == 64
    assert lines.pop("size").endswith(" bytes")
    parameters = sum(array.size for array in tiny.datasets(tiny.options()).values()) + 4  # the row of the mask
    assert lines == {
        "format": "TensorFlow checkpoint, as of bilm-tf and TensorFlow Hub",
        "token layer": "words of 50 characters of 4 numbers; filters 4 of 1, 5 of 2, 7 of 3 characters, relu; 2 "
        "highway layers, projected to 6",
        "LSTM": "2 layers of 12 cells projected to 6 in each direction; with skip connections; cells clipped to 3, "
        "projections clipped to 3",
        "vectors": "3 layers of 12 numbers",
        "parameters": f"{parameters:,} without the softmax",
        "vocabulary": "none",
        "softmax": "over 5 words",
        "warm state": "none",
    }
    run(tmp_path / "training", tmp_path / "x.safetensors", "--dtype", "float32")
    again = run(tmp_path / "x.safetensors", "--describe")
    assert fingerprint in again
    assert "numbers:     F32" in again


@pytest.mark.parametrize(
    "arguments,message",
    [
        ([], "name a target to write, or ask for --describe"),
        (["--describe", "--verify"], "--verify needs a target to write"),
        (["--describe", "--dtype", "float32"], "--dtype needs a target to write"),
        (["--describe", "--include-softmax"], "--include-softmax needs a target to write"),
        (["x.hdf5", "--tolerance", "1"], "--text and --tolerance belong to --verify"),
        (["x.hdf5", "--verify", "--text", "nowhere"], "nowhere: cannot be read as text"),
        (["x.hdf5", "--verify", "--text", os.devnull], "has no words, expected tokenised sentences"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_for(tmp_path, run, monkeypatch, arguments, message):
    tiny.write(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=message):
        run("a", *arguments)


@pytest.mark.parametrize("arguments", [["x.bin"], ["x.hdf5", "--dtype", "float16"]], ids=str)
def test_what_cannot_be_written_is_refused_before_the_source_is_read(tmp_path, run, monkeypatch, arguments):
    tiny.write(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("elmo_plugin.formats.read_weights", lambda *_: pytest.fail("was read"))
    with pytest.raises(FormatError, match="unknown suffix|hdf5 weights are float32"):
        run("a", *arguments)


def test_nothing_is_overwritten_unasked(tmp_path, run):
    _, weight_file = tiny.write(tmp_path / "a")
    (tmp_path / "x_options.json").write_text("mine")
    with pytest.raises(ConfigurationError, match="x_options.json: exists. Name another target, or replace it"):
        run(weight_file, tmp_path / "x.hdf5")
    assert (tmp_path / "x_options.json").read_text() == "mine" and not (tmp_path / "x.hdf5").exists()
    run(weight_file, tmp_path / "x.hdf5", "--force")
    before = (tmp_path / "a" / "weights.hdf5").read_bytes()
    with pytest.raises(ConfigurationError, match="belongs to the source"):
        run(weight_file, tmp_path / "a" / "weights.hdf5", "--force")
    assert (tmp_path / "a" / "weights.hdf5").read_bytes() == before
    options = (tmp_path / "a" / "options.json").read_bytes()
    with pytest.raises(ConfigurationError, match="options.json: belongs to the source"):
        run(weight_file, tmp_path / "a" / "weights.h5", "--force")
    assert (tmp_path / "a" / "options.json").read_bytes() == options


def test_errors_of_the_source_pass_through(tmp_path, run):
    with pytest.raises(WeightFileError, match="nowhere: no such file or folder"):
        run(tmp_path / "nowhere", "--describe")
