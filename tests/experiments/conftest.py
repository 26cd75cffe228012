"""What the tests of the experiments stand on: a biLM and small data where the variables of the experiments point."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from elmo_plugin.formats import read_weights, write_weights
from tests import task_data

TEXT = "The cat sat on the mat .\nNobody saw it .\n" * 40


@pytest.fixture(scope="session")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The built-in biLM with a vocabulary and a softmax."""
    path = tmp_path_factory.mktemp("bilm") / "bilm.safetensors"
    words = ["<S>", "</S>", "<UNK>", "the", "cat", "sat", "saw"]
    softmax = {"weight": torch.zeros(len(words), 128), "bias": torch.zeros(len(words))}
    write_weights(replace(read_weights("builtin"), softmax=softmax, vocabulary=words), path)
    return str(path)


@pytest.fixture(scope="session")
def spacy_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A spaCy model that knows where sentences end, and two verbs: those that know more are not on PyPI."""
    path = tmp_path_factory.mktemp("spacy") / "en_two_verbs"
    model = pytest.importorskip("spacy").blank("en")
    model.add_pipe("sentencizer")
    model.add_pipe("attribute_ruler").add(patterns=[[{"LOWER": {"IN": ["saw", "liked"]}}]], attrs={"POS": "VERB"})
    model.to_disk(path)
    return str(path)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bilm: str) -> None:
    """Put small files where the variables of the experiments point, and where what is public is fetched from."""
    variables = task_data.write(tmp_path)
    for name in ("train-000", "heldout"):
        (tmp_path / f"{name}.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    variables.update(SST_DATA=str(tmp_path / "sst"), LM_DATA=str(tmp_path), BILM=bilm, BILM_DIM="256", SCALE="small")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    fetch_public_files(tmp_path, monkeypatch)


def fetch_public_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the download alone: what does not ask AllenNLP's `cached_path` for an address has no file."""
    file_utils = pytest.importorskip("allennlp.common.file_utils")
    package = file_utils._cached_path  # that all of AllenNLP's functions of this name come to
    by_package = package.cached_path

    def fetch(address: Any, **arguments: Any) -> Any:
        is_public = str(address).startswith("https://")
        return by_package(task_data.public_file(str(address), folder) if is_public else address, **arguments)

    monkeypatch.setattr(package, "cached_path", fetch)
