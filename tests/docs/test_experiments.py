"""The flags that the document names are those of the command where it makes tables; its components are registered."""

import re
from pathlib import Path

import pytest

pytest.importorskip("allennlp_models.coref")

from allennlp.data import DatasetReader, TokenIndexer
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder

from tests.docs.flags import flags_of

TEXT = (Path(__file__).parent.parent.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
KINDS = {"model": Model, "reader": DatasetReader, "encoder": Seq2SeqEncoder, "indexer": TokenIndexer}


def test_options_are_those_of_the_command(monkeypatch):
    commands = ("run", "show", "check", "export")
    known = set().union(*(flags_of(["elmo-tables", command], monkeypatch) for command in commands))

    table = TEXT.split("| option | default | meaning |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(--[a-z-]+)`", table, flags=re.MULTILINE)) == known


def test_components_are_registered():
    rows = re.findall(r"^\| (\w+) `(\w+)` \|", TEXT, flags=re.MULTILINE)

    assert len(rows) >= 12
    assert [name for kind, name in rows if name not in KINDS[kind].list_available()] == []
