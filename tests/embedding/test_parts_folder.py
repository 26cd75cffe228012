"""A folder of parts holds what was embedded, and is refused where it is damaged."""

import json

import numpy as np
import pytest

pytest.importorskip("h5py")

from elmo_plugin.embedding.parts_folder import PartsFolder
from elmo_plugin.embedding.run import embed_text
from elmo_plugin.embedding.targets import PartsTarget
from elmo_plugin.engine.errors import FormatError, OptionsError
from tests.embedding.runs import make_embedder, small_parts, write_text


@pytest.mark.parametrize("layers", ["all", "top", "0,2"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_vectors_are_those_of_the_text(tmp_path, monkeypatch, layers, dtype):
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 100)
    embedder = make_embedder(tmp_path / "biLM", layers=layers)
    embed_text(text, PartsTarget(tmp_path / "vectors", dtype), embedder)
    sentences = [line.split() for line in text.read_text(encoding="utf-8").split("\n")[:-1]]
    vectors = embedder.embed(sentences)
    by_layer = (vectors if vectors.ndim == 3 else vectors[:, None]).transpose(1, 0, 2).astype(dtype)

    folder = PartsFolder(tmp_path / "vectors")

    assert folder.tokens == by_layer.shape[1]
    assert len({block.path for block in folder.blocks}) > 1
    for layer, expected in enumerate(by_layer):
        assert (np.concatenate([block.vectors(layer) for block in folder.blocks]) == expected).all()
        chosen = np.random.RandomState(0).randint(0, folder.tokens, 50)
        assert (folder.gather(layer, chosen) == expected[chosen]).all()
    assert [line for block in folder.blocks for line in folder.lines(block) if line] == list(filter(None, sentences))
    assert folder.description["dtype"] == dtype and folder.description["lines"] == 100


def test_blank_text_is_a_folder_of_nothing(tmp_path):
    (tmp_path / "text").write_text("\n\n")
    embed_text(tmp_path / "text", PartsTarget(tmp_path / "vectors"), make_embedder(tmp_path / "biLM"))

    folder = PartsFolder(tmp_path / "vectors")

    assert (folder.tokens, folder.blocks) == (0, [])


def test_finished_already_or_of_another_run(tmp_path):
    text, embedder = write_text(tmp_path / "text", 10), make_embedder(tmp_path / "biLM")
    target = PartsTarget(tmp_path / "vectors")
    embed_text(text, target, embedder)
    with pytest.raises(OptionsError, match="vectors: exists"):
        embed_text(text, target, embedder)
    embed_text(text, target._replace(resume=True), embedder)

    with pytest.raises(OptionsError, match="dtype: 'float16', now 'float32'"):
        embed_text(text, PartsTarget(tmp_path / "vectors", "float32", resume=True), embedder)


def test_what_is_no_folder_of_vectors_is_refused(tmp_path):
    with pytest.raises(FormatError, match="not a folder of vectors"):
        PartsFolder(tmp_path)
    text = write_text(tmp_path / "text", 10)
    embed_text(text, PartsTarget(tmp_path / "vectors"), make_embedder(tmp_path / "biLM"))
    part = tmp_path / "vectors" / "00000000.part"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(FormatError, match="missing or damaged, expected part 1 of 1"):
        PartsFolder(tmp_path / "vectors")
    (tmp_path / "vectors" / "description.json").write_text("no JSON")
    with pytest.raises(FormatError, match="expected the description of vectors"):
        PartsFolder(tmp_path / "vectors")


@pytest.mark.parametrize(
    "name,value,message",
    [
        ("dim", 11, "damaged .*where the description says"),
        ("num_layers", 2, "damaged .*where the description says"),
        ("dtype", "float32", "damaged .*where the description says"),
        ("tokens", 7, r"its parts hold \d+ tokens, expected 7\. Build it again"),
        ("tokens", None, r"its description has no \['tokens'\]"),
    ],
)
def test_parts_of_other_vectors_than_described_are_refused(tmp_path, name, value, message):
    text = write_text(tmp_path / "text", 10)
    embed_text(text, PartsTarget(tmp_path / "vectors"), make_embedder(tmp_path / "biLM"))
    path = tmp_path / "vectors" / "description.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps({key: item for key, item in {**description, name: value}.items() if item is not None}))

    with pytest.raises(FormatError, match=message):
        PartsFolder(tmp_path / "vectors")


def test_a_damaged_header_of_vectors_is_named(tmp_path):
    """It is read as it stands, without the checksum, which would take reading all vectors."""
    text = write_text(tmp_path / "text", 10)
    embed_text(text, PartsTarget(tmp_path / "vectors"), make_embedder(tmp_path / "biLM"))
    part = tmp_path / "vectors" / "00000000.part"
    content = part.read_bytes()
    expected = PartsFolder(tmp_path / "vectors").blocks[0].vectors(1).copy()
    header = content.index(b"NUMPY", content.index(b"0/vectors.npy"))
    refused = 0
    for place in range(header, header + 60):
        part.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert (PartsFolder(tmp_path / "vectors").blocks[0].vectors(1) == expected).all()  # "<f2" is "=f2"
        except FormatError as error:
            refused += "damaged" in str(error) or "tokens, expected" in str(error)

    assert refused > 50
