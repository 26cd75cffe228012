"""Both tables by one command, on tiny data and the built-in biLM."""

import json
import sys

import pytest

pytest.importorskip("allennlp")
pytest.importorskip("allennlp_models.structured_prediction")
pytest.importorskip("faiss")

from allennlp.commands import parse_args  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402

import elmo_plugin.commands.elmo_probes as command  # noqa: E402
from elmo_plugin.reproduction import training  # noqa: E402
from tests import task_data  # noqa: E402
from tests.probes.texts import TEST, TRAIN, write_raganato, write_semcor  # noqa: E402


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["allennlp", "elmo-probes", *map(str, arguments)])
    _, args = parse_args("allennlp")
    args.func(args)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    task_data.write(folder)
    semcor = folder / "wsd" / "semcor"
    semcor.mkdir(parents=True)
    for name in ("train_00", "verbs_train_00"):
        write_semcor(semcor / f"{name}.jsonl.gz", TRAIN, document=name)
    write_semcor(semcor / "test_00.jsonl.gz", TEST)
    return folder


def rows_of(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ")[1:] for line in lines[2:]}


def test_senses(data, tmp_path, monkeypatch, capsys):
    runs = tmp_path / "runs"
    run(monkeypatch, "--tables", 4, 5, "--data", data, "--runs", runs)
    printed = capsys.readouterr().out
    assert "builtin, senses: test text" in printed and "Table 4" in printed and "Table 6" not in printed

    table5 = rows_of(runs / "table5.md")
    assert table5["biLM, second layer"][0] == "69.0" and "[" in table5["biLM, second layer"][1]
    assert table5["first sense"][1].startswith("66.7 [")
    assert table5["CoVe, first layer"] == ["59.4"] or table5["CoVe, first layer"][0].startswith("59.4")
    assert "First sense by training counts" in (runs / "table5.md").read_text()
    assert "[" in rows_of(runs / "table4.md")["same sense: random biLM, second layer"][0]
    assert "Share of the 10 nearest tokens of the same lemma, in percent" in printed
    assert "[" in rows_of(runs / "table4.md")["same part of speech: any words"][0]

    monkeypatch.setattr("elmo_plugin.probes.senses_run.run_senses", lambda *_: pytest.fail("was run again"))
    run(monkeypatch, "--tables", 5, "--data", data, "--runs", runs)
    assert (runs / "table5.md").read_text() in capsys.readouterr().out


def test_raganato_sets_each_have_a_row(data, tmp_path, monkeypatch):
    for name in ("senseval2", "semeval2015"):
        write_raganato(tmp_path / f"{name}.data.xml", TEST)
    sets = [tmp_path / "senseval2.data.xml", tmp_path / "semeval2015.data.xml"]
    run(monkeypatch, "--tables", 5, "--data", data, "--runs", tmp_path / "runs", "--test", *sets)

    text = (tmp_path / "runs" / "table5.md").read_text()
    assert "| biLM | test text | first sense | layer 0 | layer 1 | layer 2 |" in text
    assert text.count("data.xml |") == 2


def test_tags(data, tmp_path, monkeypatch, capsys):
    runs = tmp_path / "runs"
    trained = []

    def train(one):
        from allennlp.commands.train import train_model
        from allennlp.common import Params

        trained.append(one.variables["BILM"])
        overrides = {"trainer.num_epochs": 1, "data_loader.batch_sampler.batch_size": 2, "pytorch_seed": one.seed}
        params = Params.from_file(str(one.config), json.dumps(overrides), dict(one.variables))
        train_model(params, str(one.folder))

    monkeypatch.setattr(training, "train", train)
    run(monkeypatch, "--tables", 6, "--data", data, "--runs", runs)
    run(monkeypatch, "--tables", 6, "--data", data, "--runs", runs)

    assert trained == ["builtin", str(next(runs.glob("random-*.safetensors")))]
    table6 = rows_of(runs / "table6.md")
    assert table6["most frequent tag of the word"][1] == "100.0 [100.0, 100.0]"
    assert table6["biLM, first layer"][0] == "97.3" and table6["second layer over first"][0] == "-0.5"
    assert "18 words of 4 test sentences" in (runs / "table6.md").read_text()
    kept = sorted(runs.glob("tags-*/1.json"))
    assert len(kept) == 2
    for path in kept:
        metrics = json.loads((path.parent / "1" / "metrics.json").read_text())
        for layer, found in enumerate(json.loads(path.read_text())["layers"]):
            assert found[0] == pytest.approx(100 * metrics[f"test_accuracy_layer_{layer}"])


@pytest.mark.parametrize(
    "option", [("--state", "warm"), ("--backend", "cpu"), ("--cuda-device", 0), ("--test", "x"), ("--sense-index", "x")]
)
def test_what_is_for_the_senses_is_not_ignored(option, tmp_path, monkeypatch):
    with pytest.raises(ConfigurationError, match=f"{option[0]} is for the senses, but only table 6 is asked for"):
        run(monkeypatch, "--tables", 6, "--data", tmp_path, "--runs", tmp_path / "runs", *option)
    assert not (tmp_path / "runs").exists()


def test_missing_data_are_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="train_.*no such file, expected text with word senses"):
        run(monkeypatch, "--tables", 5, "--data", tmp_path, "--runs", tmp_path / "runs")


def test_experiment_is_there():
    from elmo_plugin.probes.tags_run import CONFIG

    assert (command.EXPERIMENTS / CONFIG).exists()
