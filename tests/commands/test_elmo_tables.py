"""The command: data that are missing, and a table with what there is."""

import json
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from allennlp.commands import main

from tests import task_data

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in ("DATA", "BILM", "VECTORS"):
        monkeypatch.delenv(name, raising=False)


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["allennlp", "elmo-tables", *map(str, arguments)])
    main(prog="allennlp")


def test_missing_data_are_named_with_where_to_get_them(tmp_path, monkeypatch):
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "check", "table1", "--scale", "paper", "--tasks", "ner,sst", "--data", tmp_path)

    text = str(stopped.value)
    assert f"{tmp_path}/conll2003/eng.testb" in text and f"{tmp_path}/senna/senna.50d.txt" in text
    assert "trec.nist.gov" in text
    assert "sst" not in text  # public


def test_data_that_are_there(tmp_path, monkeypatch, capsys):
    task_data.write(tmp_path)
    run(monkeypatch, "check", "table1", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt")

    assert "all data of 12 cells" in capsys.readouterr().out


def test_run_trains_what_is_missing_and_prints_the_table(tmp_path, monkeypatch, capsys):
    """With a training that only writes its score: baseline 0.5, ELMo 0.6."""
    from elmo_plugin.reproduction import training

    task_data.write(tmp_path)
    trained = []

    def train(run):
        trained.append(run.name)
        run.folder.mkdir(parents=True)
        (run.folder / training.ARCHIVE).write_text("")
        (run.folder / "config.json").write_text(json.dumps({"trainer": {"validation_metric": "+f1-measure-overall"}}))
        score = 0.5 + 0.1 * ("elmo" in run.config.stem)
        metrics = {"test_f1-measure-overall": score, "training_duration": "0:02:00.5"}
        (run.folder / training.METRICS).write_text(json.dumps(metrics))

    monkeypatch.setattr(training, "train", train)
    arguments = ["table1", "--tasks", "ner", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt"]
    arguments += ["--runs", tmp_path / "runs", "--seeds"]
    run(monkeypatch, "run", *arguments, 1)
    run(monkeypatch, "run", *arguments, 2)

    assert trained == [f"table1/ner_{kind}, seed {seed}" for seed in (1, 2) for kind in ("baseline", "elmo")]
    text = (tmp_path / "runs" / "small" / "table1.md").read_text()
    assert "| ner | elmo | test | 60.0 ± 0.0 | 2 | +10.0 | -20.0% | 92.22 ± 0.1 | +2.1 | -21.0% | 2.0 |" in text
    assert "92.22" in capsys.readouterr().out
