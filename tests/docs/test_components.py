"""The document names every parameter of the components and no other, and its examples are configurations."""

import inspect
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("allennlp")
pytest.importorskip("_jsonnet")

from _jsonnet import evaluate_snippet
from allennlp.common import Params
from allennlp.modules import TextFieldEmbedder

from elmo_plugin.seq2seq_encoders.elmo_bilm import ElmoBiLmEncoder
from elmo_plugin.seq2seq_encoders.elmo_output import ElmoOutputEncoder
from elmo_plugin.token_embedders.elmo import ElmoEmbedder
from elmo_plugin.token_indexers.elmo import ElmoIndexer

TEXT = (Path(__file__).parents[2] / "docs" / "components.md").read_text(encoding="utf-8")
SECTIONS = {
    "Token indexer `elmo`": ElmoIndexer,
    "Token embedder `elmo`": ElmoEmbedder,
    "Encoder `elmo_output`": ElmoOutputEncoder,
    "Encoder `elmo_bilm`": ElmoBiLmEncoder,
}
# Passed by AllenNLP, not by a person.
PASSED = {"self", "serialization_dir"}


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("title", list(SECTIONS))
def test_parameters_are_those_of_the_component(title: str) -> None:
    parameters = set(inspect.signature(SECTIONS[title].__init__).parameters) - PASSED
    cells = re.findall(r"^\| (`.*?) \|", section(title), re.MULTILINE)
    in_tables = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    anywhere = set(re.findall(r"\b\w+\b", section(title)))

    assert parameters <= anywhere
    assert in_tables <= parameters | {"carried", "reset", "warm"}  # the table of states


@pytest.mark.parametrize("example", re.findall(r"```jsonnet\n(.*?)```", TEXT, re.DOTALL))
def test_examples_are_jsonnet(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the layer cache makes its folder
    whole = example if example.startswith("{") else "{" + example + "}"
    config = json.loads(evaluate_snippet("components.md", whole))

    embedder = config.get("text_field_embedder") or config.get("model", {}).get("text_field_embedder")
    if embedder is not None:
        embedder["token_embedders"]["elmo"]["weights"] = "builtin"  # no network
        assert TextFieldEmbedder.from_params(Params(embedder)).get_output_dim() % 256 == 0
