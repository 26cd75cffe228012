"""The command: data that are missing, and a table with what there is."""

import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.commands import main
from allennlp.common.checks import ConfigurationError

from elmo_plugin.formats import read_weights, write_weights
from tests import task_data, tiny
from tests.reproduction.runs import leave_items, leave_result, some_items

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in ("DATA", "SST_DATA", "BILM", "VECTORS"):
        monkeypatch.delenv(name, raising=False)


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["allennlp", "elmo-tables", *map(str, arguments)])
    main(prog="allennlp")


def named(runs, bilm=None):
    """What the program makes of the arguments for table 1."""
    asked = {"table": "table1", "scale": "small", "runs": runs, "data": "d", "vectors": "v", "bilm": bilm, "tuned": []}
    return argparse.Namespace(**asked)


def test_missing_data_are_named_with_where_to_get_them(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "check", "table1", "--scale", "paper", "--tasks", "ner,sst", "--data", tmp_path)

    text = str(stopped.value)
    assert f"{tmp_path}/conll2003/eng.testb" in text and f"{tmp_path}/senna/senna.50d.txt" in text
    assert "trec.nist.gov" in text
    assert "sst" not in text
    assert re.search(
        r"sst: all is there\n(  fetched when a training needs it: https://.*\n){4}", capsys.readouterr().out
    )


def test_a_program_that_is_missing_is_named(tmp_path, monkeypatch):
    task_data.write(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="srl: missing\n  the program perl"):
        run(monkeypatch, "check", "table1", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt")


@pytest.mark.parametrize("seeds", ["0", "-1", "two"])
def test_no_number_of_trainings(seeds, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "run", "table1", "--seeds", seeds)

    assert "argument --seeds" in capsys.readouterr().err


def test_data_that_are_there(tmp_path, monkeypatch, capsys):
    task_data.write(tmp_path)
    run(monkeypatch, "check", "table1", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt")

    said = capsys.readouterr().out
    assert said.count("all is there") == 6 and "  experiments/table1/ner_elmo.jsonnet\n" in said


def test_what_is_done_is_said(tmp_path, monkeypatch, capsys):
    from elmo_plugin.commands.elmo_tables import request_of

    task_data.write(tmp_path)
    plan = request_of(named(tmp_path / "runs")).cell_plan([1, 3], ["ner"])
    for job in plan.trainings()[:2]:
        leave_result(job.run.folder, 0.75)
        leave_items(job.run.folder, "test", some_items([1, 1, 0, 1]))
    arguments = [
        "--tasks",
        "ner",
        "--data",
        tmp_path,
        "--vectors",
        tmp_path / "vectors.txt",
        "--runs",
        tmp_path / "runs",
    ]
    run(monkeypatch, "check", "table1", *arguments)

    assert capsys.readouterr().out.splitlines()[-2:] == [
        "  experiments/table1/ner_baseline.jsonnet (done: seeds 1, 3)",
        "  experiments/table1/ner_elmo.jsonnet",
    ]


def test_empty_data_are_missing(tmp_path, monkeypatch, capsys):
    task_data.write(tmp_path)
    (tmp_path / "ner" / "wikigold" / "dev.txt").write_text("")
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "check", "table1", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt")

    missing, advice = str(stopped.value).rsplit("\n", 1)
    assert missing == f"ner: missing\n  {tmp_path}/ner/wikigold/dev.txt (empty)"
    assert advice.startswith("These are open data")
    said = capsys.readouterr().out
    assert "ner: missing: data" in said and "sst: all is there" in said


@pytest.mark.parametrize("tasks", ["ner, sst", " ner,sst "])
def test_tasks_may_have_spaces(tasks, tmp_path, monkeypatch, capsys):
    task_data.write(tmp_path)
    arguments = ["table1", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt", "--tasks"]
    run(monkeypatch, "check", *arguments, tasks)

    assert capsys.readouterr().out.count(".jsonnet") == 4
    with pytest.raises(SystemExit, match=r"no task \[''\]"):
        run(monkeypatch, "check", *arguments, "")


def test_a_bilm_that_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="nothing.safetensors"):
        run(monkeypatch, "show", "table1", "--bilm", tmp_path / "nothing.safetensors")


def test_a_bilm_is_the_same_however_its_path_is_given(tmp_path, monkeypatch, bilm):
    from elmo_plugin.commands.elmo_tables import request_of

    relative = os.path.relpath(bilm)
    found = [request_of(named(tmp_path, bilm=name)).variables() for name in (str(bilm), relative)]

    assert found[0] == found[1] and found[0]["BILM"] == str(bilm)


def test_nothing_is_shown_or_copied_where_nothing_is(tmp_path, monkeypatch):
    (tmp_path / "empty" / "small" / "ner-1").mkdir(parents=True)
    for name in ("nowhere", "empty"):
        with pytest.raises(SystemExit, match=f"{name}/small: no training in it"):
            run(monkeypatch, "show", "table1", "--runs", tmp_path / name)
        with pytest.raises(SystemExit, match=f"{name}/small: no training of this table"):
            run(monkeypatch, "export", "table1", "--runs", tmp_path / name, "--to", tmp_path / "copies")

    assert {path.name for path in tmp_path.rglob("*")} == {"empty", "small", "ner-1"}


def test_tuned_bilms_that_are_not_asked_for_are_named(tmp_path, monkeypatch, capsys):
    """Those that a training has: finished, of this biLM, and of the questions' paragraphs; figure 1 takes none."""
    from elmo_plugin.commands.elmo_tables import EXPERIMENTS, request_of

    folders = tuning_folders(EXPERIMENTS, tmp_path, ["snli", "squad"])
    for folder in (folders["snli"], folders["squad_questions"], folders["squad_contexts"].with_name("1.part")):
        leave_result(folder, 0.5)
    data = ["--data", "d", "--vectors", "v", "--runs", tmp_path]
    run(monkeypatch, "show", "table2", *data)
    assert "--tuned" not in capsys.readouterr().out  # no model has been trained with it
    asked = named(tmp_path)
    asked.table, asked.tuned = "table2", ["snli", "squad"]
    plan = request_of(asked).cell_plan([1], ["snli", "squad"])
    for cell in plan.cells:
        if not cell.is_baseline:
            leave_result(plan.runs_of(cell)[0].folder, 0.5)
    run(monkeypatch, "show", "table2", *data)
    assert "--tuned snli shows them" in capsys.readouterr().out
    leave_result(folders["squad_contexts"], 0.5)
    run(monkeypatch, "show", "table2", *data)
    assert "--tuned snli,squad shows them" in capsys.readouterr().out

    write_weights(read_weights("builtin"), tmp_path / "other.safetensors")
    run(monkeypatch, "show", "table2", *data, "--bilm", tmp_path / "other.safetensors")
    run(monkeypatch, "show", "table2", *data, "--tuned", "snli")
    run(monkeypatch, "show", "figure1", *data)
    assert "shows them" not in capsys.readouterr().out


def tuning_folders(experiments, runs, tasks):
    """Where biLMs are that are tuned on the texts of tasks, by the names of the experiments."""
    from elmo_plugin.commands.elmo_tables import request_of
    from elmo_plugin.reproduction import tunings

    asked = named(runs)
    asked.tuned = tasks
    variables = request_of(asked).variables()
    return {
        one.config.stem: tunings.run_of(one, variables, runs / "small").folder
        for one in tunings.tunings_of(experiments, tasks)
    }


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """The experiments of entities and sentiment, of which one is being edited, and finished trainings of all four."""
    from elmo_plugin.commands import elmo_tables

    task_data.write(tmp_path)
    experiments = tmp_path / "experiments"
    shutil.copytree(ROOT / "experiments", experiments, ignore=shutil.ignore_patterns("results"))
    monkeypatch.setattr(elmo_tables, "EXPERIMENTS", experiments)
    plan = elmo_tables.request_of(named(tmp_path / "runs")).cell_plan([1], ["ner", "sst"])
    for job in plan.trainings():
        leave_result(job.run.folder, 0.75)
        leave_items(job.run.folder, "test", some_items([1, 1, 0, 1]))
    with (experiments / "table1" / "ner_elmo.jsonnet").open("a") as file:
        file.write("{")
    return ["--data", tmp_path, "--vectors", tmp_path / "vectors.txt", "--runs", tmp_path / "runs"]


@pytest.mark.parametrize("action", ["check", "run", "export"])
def test_an_experiment_that_is_being_edited_is_named(action, edited, tmp_path, monkeypatch):
    arguments = [*edited, *(["--to", tmp_path / "copies"] if action == "export" else [])]
    with pytest.raises(SystemExit, match="ner_elmo.jsonnet: jsonnet cannot evaluate it: .*STATIC ERROR"):
        run(monkeypatch, action, "table1", "--tasks", "ner", *arguments)


def test_an_experiment_that_is_being_edited_leaves_the_rest_of_a_table(edited, tmp_path, monkeypatch, capsys):
    run(monkeypatch, "run", "table1", "--tasks", "sst", *edited)

    assert capsys.readouterr().out.count("75.0") == 2
    table = (tmp_path / "runs" / "small" / "table1.md").read_text()
    assert table.count("75.0") == 3 and "ner_elmo.jsonnet: jsonnet cannot evaluate it" in table
    # the trainings with this biLM cannot be looked for
    leave_result(tuning_folders(tmp_path / "experiments", tmp_path / "runs", ["ner"])["ner"], 0.5)
    run(monkeypatch, "show", "table1", "--tasks", "ner", *edited)
    assert "ner_elmo.jsonnet: jsonnet cannot evaluate it" in " ".join(capsys.readouterr().out.split())


def test_another_folder_than_that_of_the_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=f"{tmp_path}/experiments/table1: no experiments. Start this command"):
        run(monkeypatch, "check", "table1")


def test_an_interruption_ends_without_a_traceback(tmp_path, monkeypatch, capsys):
    from elmo_plugin.reproduction import training

    def interrupted(run, keep_open):
        raise KeyboardInterrupt

    task_data.write(tmp_path)
    monkeypatch.setattr(training, "train", interrupted)
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "run", "table1", *entities(tmp_path))

    assert stopped.value.code == 130 and "the same command goes on" in capsys.readouterr().err


@pytest.mark.parametrize("mistake", [FileNotFoundError("nowhere"), ConfigurationError("no such label")])
def test_items_of_other_data(mistake, tmp_path, monkeypatch):
    from elmo_plugin.reproduction import items

    def evaluate(*_):
        raise mistake

    monkeypatch.setattr(items, "evaluate", evaluate)
    with pytest.raises(SystemExit, match=str(mistake).strip("'")):
        run(monkeypatch, "items", tmp_path)


def test_items_without_a_training(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="model.tar.gz"):
        run(monkeypatch, "items", tmp_path)


def test_run_trains_what_is_missing_and_prints_the_table(tmp_path, monkeypatch, capsys):
    """With a training that only writes its score, 0.5 or 0.6 with ELMo, and 14 items that ELMo alone gets right."""
    from elmo_plugin.reproduction import training

    task_data.write(tmp_path)
    trained = []

    def train(run, keep_open):
        trained.append(run.name)
        leave_result(run.folder, 0.5 + 0.1 * ("elmo" in run.config.stem), seconds=120.5)

    def evaluate(run, split, keep_open):
        leave_items(run.folder, split, some_items(["elmo" in run.config.stem] * 14))

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(training, "evaluate", evaluate)
    arguments = ["table1", "--tasks", "ner", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt"]
    arguments += ["--runs", tmp_path / "runs", "--seeds"]
    run(monkeypatch, "run", *arguments, 1)
    run(monkeypatch, "run", *arguments, 2)

    assert trained == [f"table1/ner_{kind}, seed {seed}" for seed in (1, 2) for kind in ("baseline", "elmo")]
    text = (tmp_path / "runs" / "small" / "table1.md").read_text()
    line = (
        "| ner | elmo | test | 60.0 ± 0.0 | 2 | +10.0 | -20.0% | <0.001 | 92.22 ± 0.10 | +2.1 | -21.0% | 1,234 | 2.0 |"
    )
    assert line in text
    assert "92.22" in capsys.readouterr().out
    assert {path.suffix for path in (tmp_path / "runs" / "small").glob("table1.*")} >= {".md", ".csv", ".tex"}


@pytest.fixture
def bilm(tmp_path):
    """A tiny biLM with a softmax, which has no name."""
    tiny.write(tmp_path / "tiny")
    found = read_weights(tmp_path / "tiny")
    words = ["<S>", "</S>", "<UNK>", "official", ".", *(f"w{number}" for number in range(4995))]
    softmax = {"weight": torch.zeros(5000, found.options.lstm.projection_dim), "bias": torch.zeros(5000)}
    write_weights(replace(found, softmax=softmax, vocabulary=words), tmp_path / "bilm.safetensors")
    return tmp_path / "bilm.safetensors"


def test_tasks_that_cannot_be_tuned_are_refused(tmp_path, monkeypatch):
    """Before anything is trained, by an error that names the option."""
    tiny.write(tmp_path / "tiny")
    task_data.write(tmp_path)
    arguments = ["--data", tmp_path, "--vectors", tmp_path / "vectors.txt", "--tasks", "sst", "--tuned"]
    monkeypatch.setenv("SST_DATA", str(tmp_path / "elsewhere"))
    for tasks, more, message in (
        ("sst, ner", [], f"sst: missing\n  {tmp_path}/elsewhere/dev.txt"),
        ("sst,pos", [], r"--tuned sst,pos: table1 has no task \['pos'\]"),
        ("coref", [], r"--tuned coref: table7 has no task \['coref'\]"),
        ("sst", ["--bilm", tmp_path / "tiny"], "tiny comes without a softmax, and cannot be tuned"),
    ):
        with pytest.raises(SystemExit, match=message):
            run(monkeypatch, "check", "table1", *arguments, tasks, *more)
    for table, message in (("table7", "--tuned is for the other tables"), ("figure1", "--tuned is not for figure1")):
        with pytest.raises(SystemExit, match=message):
            run(monkeypatch, "show", table, "--tuned", "ner", "--runs", tmp_path / "runs")


def test_a_table_with_a_tuned_bilm(tmp_path, monkeypatch, capsys, bilm):
    """Run, shown and exported, with trainings that only write their score; the biLM has no name."""
    from elmo_plugin.reproduction import recovery, training

    task_data.write(tmp_path)
    trained = []

    def train(run, keep_open):
        trained.append(run)
        leave_result(run.folder, 0.5 + 0.1 * ("elmo" in run.config.stem), inputs={"data": "others"})
        recovery.configure(run.folder, run.config, run.variables, run.changes())

    def score_text(run, bilm, output, keep_open):
        numbers = {"perplexity": dict.fromkeys(("forward", "backward", "mean"), 9.0), "words": 5, "unknown_words": 1}
        output.write_text(json.dumps(numbers))

    def evaluate(run, split, keep_open):
        leave_items(run.folder, split, some_items([1]))

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(training, "score_text", score_text)
    monkeypatch.setattr(training, "evaluate", evaluate)
    arguments = ["table1", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt", "--bilm", bilm, "--tuned", "snli"]
    run(monkeypatch, "run", *arguments, "--runs", tmp_path / "runs", "--tasks", "snli")
    capsys.readouterr()
    run(monkeypatch, "export", *arguments, "--runs", tmp_path / "runs", "--to", tmp_path / "copies")
    assert f"3 trainings in {tmp_path / 'copies' / 'small'}" in capsys.readouterr().out
    run(monkeypatch, "show", *arguments, "--runs", tmp_path / "copies", "--to", tmp_path / "copies")

    assert [one.name for one in trained] == [
        "finetuning/snli, seed 1",
        "table1/snli_baseline, seed 1",
        "table1/snli_elmo, tuned, seed 1",
    ]
    assert trained[2].variables["BILM"] == str(trained[0].folder / "model.tar.gz")
    assert trained[2].variables["BILM_DIM"] == str(2 * read_weights(bilm).options.lstm.projection_dim)
    (table,) = (tmp_path / "copies" / "small").glob("table1-bilm.safetensors-*-tuned-snli.md")
    assert "| snli | elmo, tuned | test | 60.0 |" in table.read_text()
    # of the data that the tuning has read too
    assert table.read_text().count("finetuning/snli, seed 1: data have changed since") == 1


def test_table_7_needs_a_softmax(tmp_path, monkeypatch):
    tiny.write(tmp_path / "tiny")
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "run", "table7", "--data", tmp_path, "--bilm", tmp_path / "tiny")

    assert f"the biLM {tmp_path / 'tiny'} comes without a softmax" in str(stopped.value)


@pytest.mark.parametrize("name", ["bilm", "builtin"])
def test_data_of_table_7_that_are_missing(tmp_path, monkeypatch, bilm, name):
    source = bilm if name == "bilm" else name
    arguments = ["--data", tmp_path, "--vectors", tmp_path / "vectors.txt", "--tasks", "sst,srl", "--bilm", source]
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "check", "table7", *arguments)

    assert f"{tmp_path}/sst/dev.txt" in str(stopped.value) and f"{tmp_path}/srl/ewt_verbal/train" in str(stopped.value)


@pytest.mark.slow
def test_table_7_for_real(tmp_path, monkeypatch, bilm):
    """A few batches of entities: tuned, predicted, trained and scored by the processes that do it."""
    task_data.write(tmp_path)
    # the learning rate of the first batch is 0
    sentences = [[f"w{number}", *["official"] * 78, "."] for number in range(40)]
    lines = ["\n".join(f"{word} NN I-NP O" for word in words) + "\n\n" for words in sentences]
    with (tmp_path / "ner" / "wikigold" / "train.txt").open("a") as file:
        file.writelines(["\n", *lines])
    arguments = ["--tasks", "ner", "--data", tmp_path, "--vectors", tmp_path / "vectors.txt", "--bilm", bilm]
    run(monkeypatch, "run", "table7", *arguments, "--runs", tmp_path / "runs", "--cache", tmp_path / "cache")

    (table,) = (tmp_path / "runs" / "small").glob("table7-bilm.safetensors-*.csv")
    numbers, *_ = csv.DictReader(table.open())
    # all 5,000 words are equally likely before anything is tuned
    assert float(numbers["forward_before"]) == pytest.approx(5000, rel=1e-5) == float(numbers["backward_before"])
    assert float(numbers["mean_after"]) < 4999  # "official" and "." are in this text too
    assert (numbers["task"], numbers["words"], numbers["seeds"], numbers["paper_after"]) == ("ner", "11", "1", "46.3")
    assert numbers["untuned"] and numbers["tuned"] and numbers["p_value"]


def test_what_is_exported_can_be_shown(tmp_path, monkeypatch, capsys):
    """Without the trainings, and without their data."""
    from elmo_plugin.commands.elmo_tables import request_of
    from elmo_plugin.reproduction import recovery

    plan = request_of(named(tmp_path / "runs")).cell_plan([1], ["snli"])
    for run_ in (plan.runs_of(cell)[0] for cell in plan.cells):
        leave_result(run_.folder, 0.75)
        recovery.configure(run_.folder, run_.config, run_.variables, run_.changes())
        leave_items(run_.folder, "test", some_items([1, 1, 0, 1]))
    run(monkeypatch, "export", "table1", "--runs", tmp_path / "runs", "--to", tmp_path / "copies")
    run(monkeypatch, "show", "table1", "--runs", tmp_path / "copies")

    said = capsys.readouterr().out
    assert f"2 trainings in {tmp_path / 'copies' / 'small'}" in said and "75.0" in said
    assert sorted((tmp_path / "copies" / "small").glob("table1*")) == []  # which only `--to` asks for
    run(monkeypatch, "show", "table1", "--runs", tmp_path / "copies", "--to", tmp_path / "tables")
    assert "75.0" in (tmp_path / "tables" / "small" / "table1.md").read_text()
    with pytest.raises(SystemExit, match="expected another folder"):
        run(monkeypatch, "export", "table1", "--runs", tmp_path / "runs", "--to", tmp_path / "runs")


def test_items_of_a_run(tmp_path, monkeypatch, capsys):
    from elmo_plugin.reproduction import items

    asked = []
    monkeypatch.setattr(items, "evaluate", lambda *arguments: asked.append(arguments) or some_items([1, 1, 0, 1]))

    run(monkeypatch, "items", tmp_path, "--split", "development")
    run(monkeypatch, "items", tmp_path, "--data", "there")

    assert asked == [(tmp_path, "development", None), (tmp_path, "test", "there")]
    assert f"4 items, accuracy 75.0: {tmp_path}/items_development.json" in capsys.readouterr().out


def entities(folder):
    """Write two sentences of entities, and return the arguments of a run on them."""
    task_data.write(folder)
    return ["--tasks", "ner", "--data", folder, "--vectors", folder / "vectors.txt", "--runs", folder / "runs"]


def content_of(folder):
    """The digests of all files but locks."""
    paths = [path for path in folder.rglob("*") if path.is_file() and "lock" not in path.name]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_a_table_that_is_killed_goes_on(tmp_path, monkeypatch):
    """With kill -9 behind some epoch of each of its two trainings: nothing is trained anew, nothing is lost."""
    from elmo_plugin.reproduction import outcome

    arguments = entities(tmp_path)
    command = [sys.executable, "-m", "elmo_plugin", "elmo-tables", "run", "table1", *map(str, arguments)]
    killed = set()
    for _ in range(2):
        with subprocess.Popen(command, start_new_session=True) as process:
            while process.poll() is None:
                parts = {path.parent for path in (tmp_path / "runs").rglob("*.part/metrics_epoch_1.json")} - killed
                if parts and all(list(part.glob("model_state_e*_b0.th")) for part in parts):
                    killed |= parts
                    os.killpg(process.pid, signal.SIGKILL)
                    break
                time.sleep(0.01)
            assert process.wait() == -signal.SIGKILL
    run(monkeypatch, "run", "table1", *arguments)

    assert len(killed) == 2
    records = {path.parent: json.loads(path.read_text()) for path in (tmp_path / "runs").rglob(outcome.RECORD)}
    assert [len(record["recovered"]) for record in records.values()] == [1, 1]
    for folder in records:
        metrics = outcome.collect(folder).metrics
        assert (folder / "metrics_epoch_0.json").exists() and metrics["epoch"] > 2
    table = (tmp_path / "runs" / "small" / "table1.md").read_text()
    assert table.count("it was interrupted once and went on") == 2
    (baseline, elmo) = [
        row for row in csv.DictReader((tmp_path / "runs/small/table1.csv").open()) if row["task"] == "ner"
    ]
    assert baseline["mean"] and elmo["mean"] and elmo["p_value"]


@pytest.mark.slow
def test_figure_2_for_real(tmp_path, monkeypatch):
    """Two sentences of entities, trained, scored and drawn by the processes that do it."""
    from elmo_plugin.callbacks.elmo_layer_weights import FILE_NAME, read
    from elmo_plugin.reproduction import items, outcome

    arguments = entities(tmp_path)
    run(monkeypatch, "run", "figure2", *arguments, "--cache", tmp_path / "cache")
    kept = content_of(tmp_path / "cache")
    run(monkeypatch, "run", "figure2", *arguments, "--cache", tmp_path / "cache", "--seeds", 2)

    assert kept and content_of(tmp_path / "cache") == kept  # the other seed computes nothing
    (folder,) = (path.parent for path in (tmp_path / "runs").rglob(outcome.RECORD) if path.parent.name == "1")
    (last,) = read(folder / FILE_NAME)[-1:]
    assert last["epoch"] == outcome.collect(folder).metrics["epoch"] + 1
    assert len(items.read(folder, "test").numbers) == 2
    assert "| ner | input |" in (tmp_path / "runs" / "small" / "figure2.md").read_text()
