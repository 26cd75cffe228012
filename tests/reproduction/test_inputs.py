"""What a training reads, by its content."""

import io
import tarfile
from pathlib import Path

import pytest
import torch

pytest.importorskip("allennlp")

from cached_path import resource_to_filename

from elmo_plugin.formats import pretrained
from elmo_plugin.reproduction.cells import resolve
from elmo_plugin.reproduction.inputs import changed, inputs_of
from elmo_plugin.reproduction.named import named_in
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


def test_addresses_are_not_fetched(variables, monkeypatch, tmp_path):
    monkeypatch.setattr("allennlp.common.file_utils.CACHE_DIRECTORY", str(tmp_path / "cache"))

    assert set(of({**variables, "SCALE": "paper"})) == {"biLM"}
    assert set(of({**variables, "SCALE": "paper", "BILM": "original"})) == set()


def test_what_was_fetched_counts(variables, monkeypatch, tmp_path):
    """All of a kind, the latest of each; a biLM of two files."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr("allennlp.common.file_utils.CACHE_DIRECTORY", str(cache))
    named = {**variables, "SCALE": "paper", "BILM": "original"}
    addresses = [name for _, name in named_in(resolve(EXPERIMENTS / "table1/squad_elmo.jsonnet", named))]
    addresses = [name for name in addresses if "://" in name] + list(pretrained.urls("original"))
    for place, address in enumerate(dict.fromkeys(addresses)):
        assert len(of(named)) < 3
        path = cache / resource_to_filename(address, '"tag"')
        path.write_text(f"content {place}")
        path.with_name(path.name + ".json").write_text("{}")

    before = of(named)
    path.write_text("other content")

    assert set(before) == {"data", "word vectors", "biLM"} and changed(before, of(named)) == ["biLM"]


def archive(folder, weights, config="{}", modified=0):
    """As AllenNLP makes one."""
    folder.mkdir(exist_ok=True)
    with tarfile.open(folder / "model.tar.gz", "w:gz") as members:
        for name, content in (("config.json", config.encode()), ("weights.th", weights)):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), modified
            members.addfile(member, io.BytesIO(content))
    return {"BILM": str(folder / "model.tar.gz"), "BILM_DIM": "256"}


def weights(path, value):
    torch.save({"a": torch.full((3,), value)}, path)
    return path.read_bytes()


def test_of_an_archive_its_weights_count(variables, tmp_path):
    """A biLM that is tuned again, elsewhere, is the same where its weights are."""
    first = of({**variables, **archive(tmp_path / "a", weights(tmp_path / "one.th", 1.0))})
    again = archive(tmp_path / "b", weights(tmp_path / "again.th", 1.0), '{"data": "elsewhere"}', modified=1)
    again = of({**variables, **again})
    other = of({**variables, **archive(tmp_path / "c", weights(tmp_path / "one.th", 2.0))})

    assert changed(first, again) == [] and changed(first, other) == ["biLM"]


def test_a_damaged_archive_counts_too(variables, tmp_path):
    named = {**variables, **archive(tmp_path / "a", bytes(range(256)) * 40)}
    first = of(named)
    (tmp_path / "a" / "model.tar.gz").write_bytes((tmp_path / "a" / "model.tar.gz").read_bytes()[:-40])

    assert changed(first, of(named)) == ["biLM"]
