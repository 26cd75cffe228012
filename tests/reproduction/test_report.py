"""A table or a figure in every form."""

import csv
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from rich.console import Console

from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.planning import Request
from elmo_plugin.reproduction.report import print_table, write_table
from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.tuning_sheet import TuningRow
from elmo_plugin.reproduction.tunings import Tuning
from tests.reproduction.runs import some_items


def ask(table, folder, bilm="original", tuned=()):
    return Request(table, "small", Path("experiments"), folder, bilm, "data", "data/sst", "vectors.txt", tuned)


ROWS = [Row(Cell(Path("x"), "ner", "elmo", "test"), {1: 0.5}, items={1: some_items([1])})]


@pytest.mark.parametrize("table,words", [("table1", "50.0"), ("figure2", "0.70")])
def test_every_form_is_written(table, words, tmp_path):
    pytest.importorskip("matplotlib")
    console = Console(record=True, width=200)

    print_table(ask(table, tmp_path), ROWS, console)
    paths = write_table(ask(table, tmp_path), ROWS, tmp_path / "made", console)

    assert [path.suffix for path in paths] == [".md", ".csv", ".tex", ".png"]
    assert all(path.stem == f"{table}-original" and path.parent == tmp_path / "made" for path in paths)
    assert all(path.exists() for path in paths)
    assert f"{table}, small scale, biLM original" in console.export_text(clear=False)
    assert words in console.export_text() and words in paths[0].read_text()


def test_table_7_has_no_picture(tmp_path):
    tuning = Tuning(Path("x"), "ner", "", 103.2, 46.3)

    rows = [TuningRow(tuning, {}, None, [], {})]
    paths = write_table(ask("table7", tmp_path, "some/b?lm.th"), rows, tmp_path, Console())

    assert [re.sub("-[0-9a-f]{8}", "", path.name) for path in paths] == [
        f"table7-b_lm.th.{suffix}" for suffix in ("md", "csv", "tex")
    ]
    assert (
        "table7, small scale, biLM some/b?lm.th: perplexity" in paths[0].read_text() and "103.2" in paths[0].read_text()
    )


def test_a_picture_that_cannot_be_drawn_is_said_and_stops_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    paths = write_table(ask("table1", tmp_path), ROWS, tmp_path, Console())

    assert [path.suffix for path in paths] == [".md", ".csv", ".tex"]
    assert "no picture: a plot needs matplotlib" in capsys.readouterr().out


def test_tasks_to_print_are_not_all_that_is_written(tmp_path):
    rows = [*ROWS, Row(Cell(Path("x"), "sst", "elmo", "test"), {1: 0.6}, remarks=["sst: a remark"])]
    console = Console(record=True, width=200)

    print_table(ask("table1", tmp_path, "builtin"), rows, console, ["ner"])
    text = write_table(ask("table1", tmp_path, "builtin"), rows, tmp_path, console)[0].read_text()

    assert "50.0" in console.export_text(clear=False) and "60.0" not in console.export_text()
    assert "50.0" in text and "60.0" in text and "\n- sst: a remark\n" in text
    assert (tmp_path / "table1.csv").exists()


def test_files_of_one_name_have_tables_of_their_own(tmp_path):
    """As those of two trainings; a long name is cut."""
    console = Console(record=True)
    bilms = ["original", "/a/model.tar.gz", "/b/model.tar.gz", "/a/" + 250 * "x"]
    names = [write_table(ask("table1", tmp_path, bilm), ROWS, tmp_path, console)[0].name for bilm in bilms]

    assert names[0] == "table1-original.md" and len(set(names)) == 4
    assert all(name.startswith("table1-model.tar.gz-") for name in names[1:3]) and len(names[3]) < 100


def test_a_tuned_bilm_is_in_the_title_and_in_the_names_of_the_files(tmp_path):
    console = Console(record=True, width=200)
    rows = [*ROWS, Row(Cell(Path("x"), "snli", "elmo", "test"), {1: 0.6}, is_tuned=True)]

    asked = ask("table1", tmp_path, "builtin", ["snli", "sst"])
    markdown, table, *_ = write_table(asked, rows, tmp_path, console)

    assert markdown.name == "table1-tuned-snli-sst.md"
    assert "biLM builtin, tuned for snli, sst: percent" in markdown.read_text()
    assert "| snli | elmo, tuned | test |" in markdown.read_text() and "| ner | elmo | test |" in markdown.read_text()
    assert [line["is_tuned"] for line in csv.DictReader(table.open())] == ["False", "True"]
