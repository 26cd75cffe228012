"""Whole runs on the smallest model, without AllenNLP unless it is named."""

import argparse
import json
import re

import pytest
import torch

from elmo_plugin.benchmark import memory, roofline, runner, speed
from elmo_plugin.benchmark.__main__ import main as start
from elmo_plugin.benchmark.arguments import add_arguments
from elmo_plugin.benchmark.memory import MemoryResult
from elmo_plugin.benchmark.peers.engine import EnginePeer

TINY = ["--quick", "--sizes", "tiny", "--words", "20", "--batches", "1", "3"]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(roofline, "_SECONDS", 0.001)
    monkeypatch.setattr(roofline, "_LARGE", (64, 64, 64))
    monkeypatch.setitem(roofline._BEYOND_CACHE, "cpu", (64, 64))


def run(tmp_path, *words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return runner.main(parser.parse_args([*words, "-o", str(tmp_path)]))


def test_results(tmp_path, capsys):
    threads = torch.get_num_threads()

    code = run(tmp_path, *TINY, "--peers", "cpu", "reference", "transcription", "torch-lstm", "--parts", "speed")

    assert code == 0
    assert torch.get_num_threads() == threads
    report = json.loads((tmp_path / "results.json").read_text())
    assert set(report) == {
        "format", "machine", "arguments", "text", "absent", "rates", "speed", "indexing", "memory"
    }  # fmt: skip
    assert [result["case"]["batch"] for result in report["speed"]] == [1, 1, 3, 3]
    assert [result["case"]["order"] for result in report["speed"]] == ["natural", "sorted"] * 2
    for result in report["speed"]:
        assert [peer["name"] for peer in result["peers"]] == ["transcription", "cpu", "reference", "torch.nn.LSTM"]
        assert result["baseline"] == "transcription"
        assert result["limit"]["words_per_second"] > 0
        for peer in result["peers"]:
            assert len(peer["seconds"]) == 3 and peer["error"] < 1e-2
    assert (tmp_path / "results.md").read_text() in capsys.readouterr().out


def test_tf32_is_off(tmp_path, monkeypatch):
    """On a GPU the baselines would differ by it, and get no times."""
    seen = []
    monkeypatch.setattr(runner.Run, "_all_of", lambda self, model: seen.append(torch.backends.cudnn.allow_tf32))

    assert run(tmp_path, *TINY, "--parts", "speed") == 0
    assert seen == [False] and torch.backends.cudnn.allow_tf32


def test_with_allennlp(tmp_path):
    pytest.importorskip("allennlp")

    assert run(tmp_path, *TINY, "--orders", "natural") == 0

    report = json.loads((tmp_path / "results.json").read_text())
    assert report["speed"][0]["peers"][0]["name"] == report["speed"][0]["baseline"] == "allennlp"
    assert [result["equal"] for result in report["indexing"]] == [True] * 4


@pytest.mark.parametrize("off,code", [(0.0, 0), (1e-3, 1)])
def test_exit_code_tells_wrong_vectors(tmp_path, monkeypatch, off, code):
    stock = EnginePeer.layers
    monkeypatch.setattr(EnginePeer, "layers", lambda self, ids: stock(self, ids) + off)

    assert run(tmp_path, *TINY, "--peers", "cpu", "transcription", "--parts", "speed") == code


@pytest.mark.parametrize(
    "words,message",
    [
        (["--sizes", "huge"], r"unknown size 'huge'; choose from \['tiny', "),
        (["--precisions", "int3"], "unknown precision 'int3'"),
        (["--peers", "tensorflow"], "unknown peer 'tensorflow'"),
        (["--device", "tpu"], "unknown device 'tpu'"),
        (["--text", "/no/such/file"], "/no/such/file: .*No such file"),
        (["--peers", "bilm-tf"], "bilm-tf was asked for"),
        (["--from", "/no/such/file"], "/no/such/file: .*expected the results.json"),
    ],
)
def test_arguments_that_cannot_be_followed(tmp_path, capsys, words, message):
    assert run(tmp_path, *TINY, *words) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_no_gpu(tmp_path, capsys):
    assert run(tmp_path, *TINY, "--device", "cuda") == 2
    assert "there is no CUDA device here" in capsys.readouterr().err


def test_own_text(tmp_path):
    (tmp_path / "text.txt").write_text("A short text .\nOf two sentences .\n")

    run(tmp_path, *TINY, "--peers", "cpu", "--parts", "speed", "--text", str(tmp_path / "text.txt"))

    report = json.loads((tmp_path / "results.json").read_text())
    assert report["text"]["source"] == report["arguments"]["text"] == "text.txt"
    assert report["text"]["mean_length"] == 4


def test_memory(tmp_path, monkeypatch):
    def measure(self, name, precision):
        if name == "reference":
            raise memory.PeerUnavailableError("no room")
        return MemoryResult(self._case, name, precision, 1, 2, 3)

    monkeypatch.setattr(memory.Memory, "measure", measure)

    run(tmp_path, *TINY, "--peers", "cpu", "reference", "--parts", "memory")

    report = json.loads((tmp_path / "results.json").read_text())
    assert [(result["case"]["batch"], result["name"]) for result in report["memory"]] == [(1, "cpu"), (3, "cpu")]
    assert report["absent"]["memory of reference, tiny, batch 3"] == "no room"


def test_results_are_there_when_a_run_is_cut_off(tmp_path, monkeypatch):
    stock = speed.Bench.measure

    def second_fails(self, case, *others):
        if case.order == "sorted":
            raise KeyboardInterrupt
        return stock(self, case, *others)

    monkeypatch.setattr(speed.Bench, "measure", second_fails)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, *TINY, "--peers", "cpu", "--parts", "speed")
    assert len(json.loads((tmp_path / "results.json").read_text())["speed"]) == 1


def test_old_results_can_be_shown_again(tmp_path, capsys):
    run(tmp_path, *TINY, "--peers", "cpu", "--parts", "speed")
    shown = capsys.readouterr().out

    assert start(["--from", str(tmp_path / "results.json"), "-o", str(tmp_path / "again")]) == 0
    assert capsys.readouterr().out == shown
