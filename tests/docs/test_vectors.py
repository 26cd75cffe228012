"""The examples run, and the flags that the document names are those of the command."""

import re
from pathlib import Path

import pytest

pytest.importorskip("h5py")

from elmo_plugin.elmo_embedder import ElmoEmbedder
from tests.docs.flags import flags_in, flags_of

TEXT = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")


def test_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sentences.txt").write_text("The cat\n")
    ElmoEmbedder(weights="builtin", state="reset").embed_file("sentences.txt", "vectors.hdf5")
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)

    assert names["vectors"].shape == (3, 4, 256)
    assert [found.shape[1] for found in names["several"]] == [2, 0, 1]
    assert [found.shape[1] for found in names["stream"]] == [2, 1]
    assert len(names["scores"].forward) == 4 and not any(names["scores"].is_unknown)


def test_flags_are_those_of_the_command(monkeypatch):
    pytest.importorskip("allennlp")

    assert flags_in(TEXT, "flag") == flags_of(["elmo"], monkeypatch)
