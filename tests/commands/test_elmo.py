"""`allennlp elmo` with the flags and the layout of AllenNLP 0.9, against AllenNLP 2.10.1's own biLM."""

import io
import json
import sys

import numpy as np
import pytest
import torch

pytest.importorskip("allennlp")
h5py = pytest.importorskip("h5py")

from allennlp.commands import parse_args  # noqa: E402
from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids  # noqa: E402

import elmo_plugin.commands.elmo  # noqa: E402, F401
from elmo_plugin.engine.errors import OptionsError  # noqa: E402
from elmo_plugin.formats import read_weights, write_weights  # noqa: E402
from tests import tiny  # noqa: E402

LINES = ["The cat sat .", "naïve  日本語", "a", "and/or", "The cat sat .", "x " * 30]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    tiny.write(tmp_path / "biLM")
    (tmp_path / "text").write_text("".join(line + "\n" for line in LINES), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch, *arguments):
    files = ["--options-file", "biLM/options.json", "--weight-file", "biLM/weights.hdf5"]
    monkeypatch.setattr(sys, "argv", ["allennlp", "elmo", *arguments, *files])
    _, args = parse_args("allennlp")
    args.func(args)


def stock_layers(batch_size):
    """What AllenNLP 0.9 computed, line by line: its biLM is that of 2.10.1, and its state goes from batch to batch."""
    bilm = _ElmoBiLm("biLM/options.json", "biLM/weights.hdf5").eval()
    sentences = [line.split() for line in LINES]
    for start in range(0, len(sentences), batch_size):
        batch = sentences[start : start + batch_size]
        with torch.no_grad():
            layers = bilm(batch_to_ids(batch))["activations"]
        for row, words in enumerate(batch):
            yield np.stack([layer[row, 1 : len(words) + 1].numpy() for layer in layers])


CHOICES = {
    "--all": lambda layers: layers,
    "--top": lambda layers: layers[-1],
    "--average": lambda layers: layers.mean(0),
}


@pytest.mark.parametrize("flag", CHOICES)
@pytest.mark.parametrize("batch_size", [2, 64])
def test_old_commands_give_the_old_arrays(folder, monkeypatch, flag, batch_size):
    # Trained weights: on random ones AllenNLP itself is further than this from what it computes in float64.
    write_weights(read_weights("builtin"), folder / "biLM" / "weights.hdf5")
    run(monkeypatch, "text", "out.hdf5", flag, "--batch-size", str(batch_size), "--cuda-device", "-1")

    with h5py.File("out.hdf5", "r") as file:
        assert set(file) == {str(number) for number in range(len(LINES))} | {"sentence_to_index"}
        expected = [CHOICES[flag](layers) for layers in stock_layers(batch_size)]
        found = [file[str(number)][...] for number in range(len(LINES))]
        assert [array.shape for array in found] == [array.shape for array in expected]
        difference = max(np.abs(one - other).max() for one, other in zip(found, expected))
        assert difference <= 1e-6 * max(np.abs(array).max() for array in expected)
        index = json.loads(file["sentence_to_index"][0])
    assert index == {line.strip(): str(number) for number, line in enumerate(LINES)}


def test_default_batches_are_those_of_0_9(folder, monkeypatch):
    run(monkeypatch, "text", "one", "--all")
    run(monkeypatch, "text", "two", "--all", "--batch-size", "64", "--forget-sentences")

    with h5py.File("one", "r") as one, h5py.File("two", "r") as two:
        assert set(one) - set(two) == {"sentence_to_index"}
        assert all((one[name][...] == two[name][...]).all() for name in two)


def test_sentence_keys(folder, monkeypatch):
    run(monkeypatch, "text", "out", "--top", "--use-sentence-keys", "--state", "reset")

    with h5py.File("out", "r") as file:
        assert set(file) == {"The cat sat .", "naïve  日本語", "a", "and\\x2for", ("x " * 30).strip()}
        assert file["naïve  日本語"].shape == (2, 12)


def test_standard_input_and_layers(folder, monkeypatch, capsys):
    with open("text") as text:
        monkeypatch.setattr(sys, "stdin", text)
        run(monkeypatch, "-", "out.npz", "--layers", "0,2", "--state", "warm", "--format", "npz")

    with np.load("out.npz") as file:
        assert file["0"].shape == (2, 4, 12)
    assert capsys.readouterr().out == "6 lines, 42 tokens in out.npz\n"


def test_one_choice_of_layers(folder, monkeypatch):
    for flags in ((), ("--all", "--top"), ("--top", "--layers", "1")):
        with pytest.raises(SystemExit):
            run(monkeypatch, "text", "out", *flags)


def test_what_cannot_be_written_is_refused_before_the_biLM_is_read(folder, monkeypatch):
    monkeypatch.setattr("elmo_plugin.elmo_embedder.read_pair", lambda *_: pytest.fail("was read"))
    with pytest.raises(OptionsError, match="unknown format 'csv'"):
        run(monkeypatch, "text", "out", "--all", "--format", "csv")
    with pytest.raises(FileNotFoundError, match="nothing: no such file"):
        run(monkeypatch, "nothing", "out", "--all")


def test_progress_in_lines(folder, monkeypatch, caplog):
    monkeypatch.setattr("elmo_plugin.embedding.progress.SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with caplog.at_level("INFO"):
        run(monkeypatch, "text", "out", "--all", "--file-friendly-logging")

    assert any("6 lines, 42 tokens, " in record.getMessage() for record in caplog.records)
