"""What the README shows works as it stands there."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_vectors_in_python() -> None:
    (example,) = blocks("python")
    shape = tuple(int(number) for number in re.search(r"# \((\d+(?:, \d+)+)\)", example).group(1).split(", "))
    names: dict = {}

    exec(example, names)

    assert names["layers"].shape == shape


def test_configuration_is_jsonnet_with_registered_names() -> None:
    pytest.importorskip("allennlp")
    jsonnet = pytest.importorskip("_jsonnet")
    from allennlp.common import Params
    from allennlp.data import DatasetReader
    from allennlp.modules import TextFieldEmbedder

    (example,) = blocks("jsonnet")
    config = json.loads(jsonnet.evaluate_snippet("README.md", example))

    DatasetReader.from_params(Params(config["dataset_reader"]))
    assert TextFieldEmbedder.from_params(Params(config["model"]["text_field_embedder"])).get_output_dim() == 256


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)", README) if "://" not in link]

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
