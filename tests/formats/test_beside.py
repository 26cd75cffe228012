from pathlib import Path

import pytest

from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.formats.beside import options_beside, options_target, read_vocabulary, vocabulary_beside


@pytest.mark.parametrize(
    "weights,options",
    [
        ("weights.hdf5", "options.json"),
        ("elmo_2x4096_weights.hdf5", "elmo_2x4096_options.json"),
        ("lm_weights.hdf5", "lm_options.json"),
        ("mine.hdf5", "mine_options.json"),
    ],
)
def test_where_options_are_written_and_found(tmp_path, weights, options):
    assert options_target(Path("a") / weights) == Path("a") / options
    (tmp_path / options).write_text("{}")
    (tmp_path / "other_options.json").write_text("{}")
    assert options_beside(tmp_path / weights) == tmp_path / options


@pytest.mark.parametrize("options", ["options.json", "elmo_options.json"])
def test_options_under_another_name(tmp_path, options):
    (tmp_path / options).write_text("{}")

    assert options_beside(tmp_path / "lm_weights.hdf5") == tmp_path / options


def test_no_or_several_options(tmp_path):
    with pytest.raises(WeightFileError, match=r"expected 'lm_options\.json' or 'options\.json', found none"):
        options_beside(tmp_path / "lm_weights.hdf5")
    for name in ("a_options.json", "b_options.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(WeightFileError, match=r"found a_options\.json, b_options\.json\. Copy it there, or name both"):
        options_beside(tmp_path / "lm_weights.hdf5")


def test_vocabulary(tmp_path):
    weights = tmp_path / "weights.hdf5"
    assert vocabulary_beside(weights) is None
    words = ["<S>", "</S>", "<UNK>", "a b", "\u0085x", "日本"]
    (tmp_path / "vocab.txt").write_bytes(("\n".join(words) + "\n").encode())
    assert vocabulary_beside(weights) == ["<S>", "</S>", "<UNK>", "a b", "x", "日本"]


def test_vocabulary_with_a_byte_order_mark(tmp_path):
    (tmp_path / "vocab.txt").write_text("<S>\n</S>\n", encoding="utf-8-sig")
    assert read_vocabulary(tmp_path / "vocab.txt") == ["<S>", "</S>"]


def test_vocabulary_in_another_encoding(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("naïve".encode("latin-1"))
    with pytest.raises(WeightFileError, match=r"vocab\.txt: cannot be read .*one word a line in UTF-8"):
        read_vocabulary(path)
