import io
import json
import re
import tarfile
from pathlib import Path

import pytest
import torch

from elmo_plugin.formats import read_pair, read_weights
from elmo_plugin.formats.record import BiLmRecord
from tests import tiny
from tests.docs.flags import flags_in, flags_of

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "pretraining.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path, monkeypatch):
    """On an archive of a language model: its biLM, softmax and vocabulary."""
    weights = read_pair(*tiny.write(tmp_path / "bilm"))
    softmax = {"weight": torch.ones(4, 6), "bias": torch.zeros(4)}
    record = BiLmRecord(
        weights.options,
        "trained",
        vocabulary=["<S>", "</S>", "<UNK>", "the"],
        softmax={part: f"softmax.{part}" for part in softmax},
    )
    state = {"_extra_state": record.to_tensor()}
    state.update({f"bilm.{name}": tensor for name, tensor in weights.tensors.items()})
    state.update({f"softmax.{part}": tensor for part, tensor in softmax.items()})
    content = io.BytesIO()
    torch.save(state, content)
    (tmp_path / "runs" / "builtin").mkdir(parents=True)
    with tarfile.open(tmp_path / "runs" / "builtin" / "model.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("weights.th")
        member.size = len(content.getvalue())
        archive.addfile(member, io.BytesIO(content.getvalue()))
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)

    exec(example, {})

    exported, small = read_weights("bilm/weights.hdf5"), read_weights("bilm.safetensors")
    assert exported.vocabulary == record.vocabulary and exported.softmax is not None
    assert small.softmax is None and "warm.hidden" in small.tensors


def test_links_lead_somewhere():
    links = [link for link in re.findall(r"\]\(([^)#]+)", TEXT) if "://" not in link]

    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_configurations_exist():
    named = set(re.findall(r"experiments/[\w/]+\.jsonnet", TEXT))

    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_overrides_change_what_they_name_and_nothing_else():
    """One that replaced the checkpointer would lose its type, and with it the exact resumption."""
    params = pytest.importorskip("allennlp.common.params")
    config = {"trainer": {"checkpointer": {"type": "elmo", "save_every_num_seconds": 600}, "optimizer": {}}}
    card = (ROOT / "elmo_plugin" / "pretrained" / "README.md").read_text(encoding="utf-8")
    overrides = [json.loads(text) for text in re.findall(r"'(\{\s*\".*?\})'", TEXT + card, re.DOTALL)]
    assert len(overrides) == 5
    for one in overrides:
        found = params.with_overrides(config, {name: one[name] for name in one if name.startswith("trainer.")})
        checkpointer = found["trainer"]["checkpointer"]
        assert checkpointer["type"] == "elmo"
        if "distributed" in one:
            assert checkpointer["save_every_num_seconds"] is None and checkpointer["save_every_num_batches"] == 500


def test_components_are_registered():
    """Under the names of the table."""
    pytest.importorskip("allennlp")
    from tests.test_architecture import component_bases

    bases = component_bases()
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([\w ]+) \|", TEXT, re.MULTILINE)
    folders = {kind.replace(" ", "_").rstrip("s") + "s": re.findall(r"`(\w+)`", names) for names, kind in rows}

    assert set(folders) >= {"data_loaders", "models", "checkpointers", "callbacks"}
    for folder, names in folders.items():
        base = bases["vocabularies" if folder == "vocabularys" else folder]
        for name in names:
            base.resolve_class_name(name)


def test_options_are_those_of_the_command(monkeypatch):
    pytest.importorskip("allennlp")

    assert flags_in(TEXT, "option") == flags_of(["elmo-perplexity"], monkeypatch)
