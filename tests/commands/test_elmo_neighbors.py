import json
import sys

import pytest

pytest.importorskip("allennlp")
pytest.importorskip("faiss")

from allennlp.commands import parse_args  # noqa: E402

import elmo_plugin.commands.elmo_neighbors  # noqa: E402, F401
from elmo_plugin.engine.errors import OptionsError  # noqa: E402
from tests.probes.texts import write_semcor  # noqa: E402


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["allennlp", "elmo-neighbors", *map(str, arguments)])
    _, args = parse_args("allennlp")
    args.func(args)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "text").write_text("He saw a good play .\n\nThey play on the field .\nShe played well .\n" * 20)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_build_and_query(folder, monkeypatch, capsys):
    run(monkeypatch, "build", "text", "index", "--approximate")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "80 lines, 320 tokens in index"
    assert [line.split(":")[0] for line in lines[1:]] == ["layer 1", "layer 2"]
    assert "measured on 200 tokens" in lines[1]

    run(monkeypatch, "query", "index", "The *play* was long .", "--k", "2")
    blocks = capsys.readouterr().out.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [
        "layer 0, the static vector of play: nearest words",
        "layer 1: nearest tokens",
        "layer 2: nearest tokens",
    ]
    assert "played  (20 times)" in blocks[0]
    for block in blocks[1:]:
        assert [line.split(": ")[1].count("*") for line in block.splitlines()[1:]] == [2, 2]

    run(monkeypatch, "query", "index", "The *play* .", "--layers", "2", "--json", "--approximate", "--cells", "1")
    found = json.loads(capsys.readouterr().out)
    assert (found["tokens"], found["position"]) == (["The", "play", "."], 1)
    assert [(entry["layer"], entry["is_exact"]) for entry in found["layers"]] == [(2, False)]
    assert len(found["layers"][0]["tokens"]) == 10

    run(monkeypatch, "query", "index", "The *play* .", "--layers", "2", "--approximate")
    assert "approximate (recall 1" in capsys.readouterr().out.splitlines()[0]


def test_several_sentences_and_senses(folder, monkeypatch, capsys):
    write_semcor(folder / "x.jsonl.gz", [[("She", None), ("played", "play%2:33:00::"), ("well", None), (".", None)]])
    run(monkeypatch, "build", "text", "index")
    capsys.readouterr()
    sentences = ("The *play* was long .", "She *played* well .")
    ask = ("query", "index", *sentences, "--k", 320, "--layers", 0, 2)

    run(monkeypatch, *ask, "--senses", "x.jsonl.gz", "--json")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["sense"], second["sense"]) == (None, "play%2:33:00::")
    senses = {(tuple(one["tokens"]), one["position"]): one["sense"] for one in first["layers"][1]["tokens"]}
    assert senses[("She", "played", "well", "."), 1] == "play%2:33:00::"
    assert sum(sense is not None for sense in senses.values()) == 1

    run(monkeypatch, *ask)
    printed = capsys.readouterr().out
    assert printed.startswith("The *play* was long .\n\nlayer 0,") and "\n\nShe *played* well .\n\nlayer 0," in printed
    run(monkeypatch, *ask, "--markdown", "--senses", "x.jsonl.gz")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| layer | cosine | nearest | sense |" and len([line for line in lines if "**" in line]) == 2
    assert any(line.endswith("| verb.competition play%2:33:00:: |") and line.startswith("| 2 ") for line in lines)


def test_resumed(folder, monkeypatch, capsys):
    run(monkeypatch, "build", "text", "index")
    with pytest.raises(OptionsError, match="index: exists"):
        run(monkeypatch, "build", "text", "index")
    run(monkeypatch, "build", "text", "index", "--resume")

    assert capsys.readouterr().out == "80 lines, 320 tokens in index\n" * 2


def test_wrong_calls_are_refused_before_the_bilm_is_read(folder, monkeypatch):
    run(monkeypatch, "build", "text", "index")
    monkeypatch.setattr("elmo_plugin.elmo_embedder.read_weights", lambda *_: pytest.fail("was read"))
    with pytest.raises(OptionsError, match="0 tokens are marked"):
        run(monkeypatch, "query", "index", "The play .")
    with pytest.raises(OptionsError, match="--cells belongs to --approximate"):
        run(monkeypatch, "query", "index", "The *play* .", "--cells", "3")
    with pytest.raises(OptionsError, match="--json and --markdown: choose one"):
        run(monkeypatch, "query", "index", "The *play* .", "--json", "--markdown")
    with pytest.raises(FileNotFoundError, match="nothing: no such file"):
        run(monkeypatch, "build", "nothing", "other")
