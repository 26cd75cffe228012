"""Every experiment is found, listed, evaluated, and trains two steps on small data."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict

import pytest
import torch

pytest.importorskip("allennlp_models.classification")

from allennlp.commands.train import train_model  # noqa: E402
from allennlp.common import Params  # noqa: E402

from elmo_plugin.formats import read_weights, write_weights  # noqa: E402

ROOT = Path(__file__).parent.parent.parent / "experiments"
CONFIGS = sorted(ROOT.rglob("*.jsonnet"))
configs = pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.relative_to(ROOT).as_posix())

TREES = """\
(3 (2 (2 The) (2 Rock)) (4 (3 (2 is) (4 destined)) (2 .)))
(1 (2 No) (1 (1 fun) (2 -RRB-)))
(0 It fails)
(4 It 's (4 wonderful))
"""
TEXT = "The cat sat on the mat .\nNobody saw it .\n" * 40

SMALLER: Dict[str, Dict[str, Any]] = {
    "bcn": {"data_loader.batch_sampler.batch_size": 2, "trainer.num_epochs": 1},
    "elmo_language_model": {
        "data_loader.batch_size": 2,
        "data_loader.batches_per_epoch": 2,
        "validation_data_loader.batch_size": 2,
        "model.n_negative_samples": 5,
        "trainer.num_epochs": 1,
    },
}


@pytest.fixture(scope="module")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The built-in biLM with a vocabulary and a softmax."""
    path = tmp_path_factory.mktemp("bilm") / "bilm.safetensors"
    words = ["<S>", "</S>", "<UNK>", "the", "cat", "sat", "saw"]
    softmax = {"weight": torch.zeros(len(words), 128), "bias": torch.zeros(len(words))}
    write_weights(replace(read_weights("builtin"), softmax=softmax, vocabulary=words), path)
    return str(path)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bilm: str) -> None:
    """Put small files where the variables of the experiments point."""
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text(TREES)
    for name in ("train-000", "heldout"):
        (tmp_path / f"{name}.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    for variable in ("SST_DATA", "LM_DATA"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setenv("BILM", bilm)


def test_experiments_are_found() -> None:
    """An empty list would pass every other test."""
    assert len(CONFIGS) >= 4


def test_readme_lists_every_experiment() -> None:
    """And none that is not there."""
    listed = re.findall(r"`([\w/]+\.jsonnet)`", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert sorted(listed) == [path.relative_to(ROOT).as_posix() for path in CONFIGS]


@configs
def test_experiment_says_what_it_is(path: Path) -> None:
    """The first line is a comment, and nothing in it depends on this machine."""
    text = path.read_text(encoding="utf-8")

    assert text.startswith("// ")
    assert not re.search(r"https?://|/home/|/root/", text)


@configs
def test_experiment_trains_on_small_data(path: Path, tmp_path: Path) -> None:
    """As `allennlp train` does it, data and steps cut down, and nothing else."""
    params = Params.from_file(str(path))
    smaller = SMALLER[params["model"]["type"]]
    params = Params.from_file(str(path), params_overrides=json.dumps(smaller))

    assert train_model(params, str(tmp_path / "run")) is not None
    assert (tmp_path / "run" / "model.tar.gz").exists()
