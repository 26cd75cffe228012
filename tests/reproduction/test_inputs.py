"""What a training reads, by its content."""

from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.inputs import changed, inputs_of
from tests import task_data, tiny

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"


@pytest.fixture
def variables(tmp_path):
    return {"SCALE": "small", "BILM": "builtin", "SST_DATA": "", **task_data.write(tmp_path)}


def of(variables, cell="table1/squad_elmo"):
    return inputs_of(EXPERIMENTS / f"{cell}.jsonnet", variables)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("qa/new_wiki/train.json", "data"),
        ("qa/qamr/train.json", "data"),
        ("qa/xquad/xquad.en.json", "data"),
        ("vectors.txt", "word vectors"),
    ],
)
def test_every_file_counts(path, kind, variables, tmp_path):
    before = of(variables)
    assert set(before) == {"data", "word vectors", "biLM"}

    with (tmp_path / path).open("a") as file:
        file.write(" ")

    assert changed(before, of(variables)) == [kind]


@pytest.mark.parametrize(
    ("cell", "path"),
    [
        ("table1/srl_baseline", "srl/ewt_verbal/train/a.gold_conll"),
        ("table1/coref_baseline", "coref/ontogum_open/train_00.gold_conll"),
        ("table1/snli_baseline", "nli/snli/dev.jsonl"),
    ],
)
def test_files_of_folders_patterns_and_slices_count(cell, path, variables, tmp_path):
    before = of(variables, cell)
    with (tmp_path / path).open("a") as file:
        file.write("\n")

    assert changed(before, of(variables, cell)) == ["data"]


def test_where_files_lie_does_not_count(variables, tmp_path):
    other = {**variables, **task_data.write(tmp_path / "other")}

    assert of(other) == of(variables)


def test_another_bilm_counts_with_elmo_alone(variables, tmp_path):
    tiny.write(tmp_path / "tiny")
    other = {**variables, "BILM": str(tmp_path / "tiny"), "BILM_DIM": "256"}

    assert changed(of(variables), of(other)) == ["biLM"]
    assert "biLM" not in of(variables, "table1/squad_baseline")


def test_what_is_not_there_is_not_compared(variables, tmp_path):
    before = of(variables)
    (tmp_path / "vectors.txt").unlink()

    assert set(of(variables)) == {"data", "biLM"} and changed(before, of(variables)) == []


def test_addresses_are_not_fetched(variables):
    assert set(of({**variables, "SCALE": "paper"})) == {"biLM"}
