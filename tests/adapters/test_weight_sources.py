"""Where a biLM is looked for: the configuration's files, the archive that is being loaded, the folder of a training."""

from collections import OrderedDict

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError

from elmo_plugin.adapters.weight_sources import find_architecture, find_weights, source_name
from elmo_plugin.engine import WeightFileError
from elmo_plugin.formats import read_weights
from elmo_plugin.formats.record import BiLmRecord
from tests import tiny


def saved(folder, name, weights, source, vocabulary=None):
    record = BiLmRecord(weights.options, source, vocabulary=vocabulary)
    state = OrderedDict({"elmo._extra_state": record.to_tensor()})
    state.update({f"elmo.bilm.{key}": value for key, value in weights.tensors.items()})
    folder.mkdir(exist_ok=True)
    torch.save(state, folder / name)


@pytest.fixture
def original(tmp_path):
    tiny.write(tmp_path / "bilm")
    return read_weights(tmp_path / "bilm")


@pytest.fixture
def tuned(tmp_path):
    """The same biLM with other weights, as a training would leave it."""
    tiny.write(tmp_path / "tuned", seed=1)
    return read_weights(tmp_path / "tuned")


def is_same(found, expected):
    return all(torch.equal(found.tensors[name], tensor) for name, tensor in expected.tensors.items())


@pytest.mark.parametrize(
    "arguments,expected",
    [
        ((None, None, None), "builtin"),
        (("x", None, None), "x"),
        ((None, "o.json", "w.hdf5"), "o.json + w.hdf5"),
    ],
    ids=str,
)
def test_name_of_a_source(arguments, expected):
    assert source_name(*arguments) == expected


@pytest.mark.parametrize(
    "arguments,names",
    [
        (("x", "o.json", None), ["weights", "options_file"]),
        (("x", None, "w.hdf5"), ["weights", "weight_file"]),
        ((None, "o.json", None), ["options_file", "weight_file"]),
        ((None, None, "w.hdf5"), ["options_file", "weight_file"]),
    ],
    ids=str,
)
def test_contradictions_name_both(arguments, names):
    with pytest.raises(ConfigurationError) as caught:
        source_name(*arguments)

    assert all(f'"{name}"' in str(caught.value) for name in names)


def test_archive_comes_before_the_files(tmp_path, original, tuned):
    source = str(tmp_path / "bilm")
    saved(tmp_path / "run", "weights.th", tuned, source)

    assert is_same(find_weights(source, serialization_dir=str(tmp_path / "run")), tuned)
    assert is_same(find_weights(source), original)


def test_files_come_before_the_best_weights_of_a_training(tmp_path, original, tuned, caplog):
    source = str(tmp_path / "bilm")
    saved(tmp_path / "run", "best.th", tuned, source)

    assert is_same(find_weights(source, serialization_dir=str(tmp_path / "run")), original)
    (tmp_path / "bilm").rename(tmp_path / "moved")
    assert not caplog.messages
    assert is_same(find_weights(source, serialization_dir=str(tmp_path / "run")), tuned)
    assert "no such file" in caplog.text and "Using the biLM of best.th" in caplog.text
    with pytest.raises(WeightFileError, match="bilm"):
        find_weights(source)


def test_pair_of_files_that_is_gone_is_found_in_the_archive(tmp_path, original, tuned):
    files = (str(tmp_path / "o.json"), str(tmp_path / "w.hdf5"))
    saved(tmp_path / "run", "weights.th", tuned, " + ".join(files))

    assert is_same(find_weights(None, *files, serialization_dir=str(tmp_path / "run")), tuned)


def test_archive_of_another_bilm_does_not_count(tmp_path, original, tuned):
    saved(tmp_path / "run", "weights.th", tuned, "another name")

    assert is_same(find_weights(str(tmp_path / "bilm"), serialization_dir=str(tmp_path / "run")), original)


def test_architecture_comes_from_the_archive_without_files(tmp_path):
    tiny.write_word_level(tmp_path / "bilm", ["a", "b"])
    weights = read_weights(tmp_path / "bilm")
    saved(tmp_path / "run", "weights.th", weights, "gone", weights.vocabulary)

    options, vocabulary = find_architecture("gone", str(tmp_path / "run"))

    assert options == weights.options
    assert vocabulary == ["<S>", "</S>", "<UNK>", "a", "b"]
    assert find_architecture(str(tmp_path / "bilm")) == (options, vocabulary)


def test_best_weights_that_are_damaged_do_not_matter_where_the_files_are_there(tmp_path, original):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best.th").write_bytes(b"PK cut off while it was written")
    source, folder = str(tmp_path / "bilm"), str(tmp_path / "run")

    assert is_same(find_weights(source, serialization_dir=folder), original)
    assert find_architecture(source, folder)[0] == original.options


def test_missing_files_without_any_archive_are_an_error(tmp_path):
    with pytest.raises(WeightFileError, match="nowhere"):
        find_weights(str(tmp_path / "nowhere"), serialization_dir=str(tmp_path))
