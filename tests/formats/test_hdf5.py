import dataclasses
import hashlib
import json
import os
import random
import re

import h5py
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.errors import EngineError, FormatError, OptionsError, WeightFileError
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.formats import read_options, read_pair, read_weights, write_weights
from elmo_plugin.formats.names import reader_group
from elmo_plugin.formats.weight_set import WeightSet
from tests import tiny
from tests.formats.strategies import assert_same_bits, tensors_for, weight_sets

ARCHITECTURES = {
    "usual": {},
    "one layer": {"layers": 1},
    "three layers": {"layers": 3},
    "no highway": {"highways": 0},
    "no character projection": {"filters": [[1, 2], [2, 4]]},
    "no cell projection": {"cells": 6},
    "no clips, no skips": {"clip": None, "skip": False},
    "words": {"words": 5},
}
each_architecture = pytest.mark.parametrize("changes", list(ARCHITECTURES.values()), ids=list(ARCHITECTURES))
in_folder = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def contents(path):
    """All datasets of a file."""
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None)
    return found


def change(path, **datasets):
    """Replace datasets, remove those that are None."""
    with h5py.File(path, "r+") as file:
        for name, value in datasets.items():
            if name in file:
                del file[name]
            if value is not None:
                file[name] = value


@each_architecture
@pytest.mark.parametrize("softmax", [False, True], ids=["", "softmax"])
def test_round_trip_is_bit_exact(tmp_path, changes, softmax):
    options_file, weight_file = tiny.write(tmp_path / "a", **changes)
    if softmax:
        change(weight_file, **{"softmax/W": np.ones((5, 6), "float32"), "softmax/b": np.arange(5, dtype="float32")})
    weights = read_pair(options_file, weight_file)
    write_weights(weights, tmp_path / "b" / "weights.hdf5")

    assert_same_bits(contents(tmp_path / "b" / "weights.hdf5"), contents(weight_file))
    assert json.loads((tmp_path / "b" / "options.json").read_text()) == json.loads(
        (tmp_path / "a" / "options.json").read_text()
    )
    assert_same_bits(read_weights(tmp_path / "b").everything(), weights.everything())


@each_architecture
def test_round_trip_through_the_engine_is_bit_exact(tmp_path, changes):
    options_file, weight_file = tiny.write(tmp_path / "a", **changes)
    weights = read_pair(options_file, weight_file)
    bilm = BiLm(weights.options)
    bilm.load_tensors(weights.tensors, weights.source)
    write_weights(WeightSet(bilm.options, bilm.state_dict()), tmp_path / "weights.hdf5")

    assert_same_bits(contents(tmp_path / "weights.hdf5"), contents(weight_file))


@in_folder
@given(weight_sets())
def test_any_weights_come_back(tmp_path, weights):
    path = tmp_path / "weights.hdf5"
    write_weights(weights, path)
    back = read_weights(path)

    residuals = {name: value for name, value in back.tensors.items() if name.endswith("forget_residual")}
    assert_same_bits(back.everything(), {**weights.everything(), **residuals})
    assert back.vocabulary == weights.vocabulary
    expected = weights.options
    if expected.char_cnn is not None:
        expected = dataclasses.replace(expected, char_cnn=dataclasses.replace(expected.char_cnn, n_characters=262))
    assert back.options == expected


def test_golden_layout(tmp_path):
    """What we write, name by name and number by number; a change here breaks the files of others."""
    options = BiLmOptions(
        LstmOptions(3, 2, 2), CharCnnOptions(2, ((1, 3), (2, 1)), n_highway=1), training={"dropout": 0.1}
    )
    tensors = tensors_for(options)
    for name in list(tensors):
        if name.endswith(".bias") and name.startswith("lstm"):
            tensors[name] = tensors[name].abs() + 0.5
    write_weights(WeightSet(options, tensors), tmp_path / "x_weights.hdf5")
    found = contents(tmp_path / "x_weights.hdf5")
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(f"{name} {found[name].dtype} {found[name].shape}\n".encode() + found[name].tobytes())

    assert len(found) == 1 + 4 + 4 + 2 + 12
    assert {array.dtype for array in found.values()} == {np.dtype("float32")}
    assert digest.hexdigest() == "aaedf947b24407eb9485ff715bb37b56a9ea1274850b683c328c9c3f3214bc57"
    assert json.loads((tmp_path / "x_options.json").read_text()) == {
        "lstm": {
            "dim": 3,
            "projection_dim": 2,
            "n_layers": 2,
            "use_skip_connections": False,
            "cell_clip": None,
            "proj_clip": None,
        },
        "char_cnn": {
            "embedding": {"dim": 2},
            "filters": [[1, 3], [2, 1]],
            "n_highway": 1,
            "activation": "relu",
            "max_characters_per_token": 50,
            "n_characters": 262,
        },
        "dropout": 0.1,
    }


@pytest.mark.parametrize("changes", [{}, {"layers": 1}, {"layers": 3}], ids=str)
def test_what_we_write_runs_in_allennlp_and_in_the_engine(tmp_path, changes):
    elmo = pytest.importorskip("allennlp.modules.elmo")
    weights = read_pair(*tiny.write(tmp_path / "a", **changes))
    write_weights(weights, tmp_path / "weights.hdf5")
    bilm = BiLm(weights.options, state="reset")
    bilm.load_tensors(read_weights(tmp_path / "weights.hdf5").tensors, "written")
    theirs = elmo._ElmoBiLm(str(tmp_path / "options.json"), str(tmp_path / "weights.hdf5"))
    ids = batch_to_ids([sentence for sentence in tiny.SENTENCES if sentence])

    expected = torch.stack(theirs(ids)["activations"])
    assert (bilm(ids).layers - expected).abs().max() < 1e-5


def test_a_single_layer_is_found_under_both_names(tmp_path):
    """bilm-tf dumps it without the wrapper in which bilm-tf and AllenNLP look for it."""
    options_file, weight_file = tiny.write(tmp_path / "a", layers=1)
    weights = read_pair(options_file, weight_file)
    with h5py.File(weight_file, "r+") as file:
        for direction in range(2):
            file.move(f"RNN_{direction}/RNN/LSTMCell", reader_group(direction, 0))

    assert_same_bits(read_pair(options_file, weight_file).tensors, weights.tensors)


def test_fine_tuned_weights_come_back_exactly(tmp_path):
    """Export after training: every weight, the forget bias near zero included, is what the engine computed with."""
    weights = read_pair(*tiny.write(tmp_path / "a"))
    bilm = BiLm(weights.options, fine_tune=True, state="reset")
    bilm.load_tensors(weights.tensors, weights.source)
    optimizer = torch.optim.Adam(bilm.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        bilm(batch_to_ids(tiny.SENTENCES[:2])).layers.pow(2).sum().backward()
        optimizer.step()
    trained = {name: value.clone() for name, value in bilm.state_dict().items() if "residual" not in name}
    write_weights(WeightSet(bilm.options, bilm.state_dict()), tmp_path / "weights.hdf5")
    back = read_weights(tmp_path / "weights.hdf5").tensors

    assert_same_bits({name: value for name, value in back.items() if "residual" not in name}, trained)
    assert not torch.equal(back["lstm.forward_layers.0.bias"], weights.tensors["lstm.forward_layers.0.bias"])
    with h5py.File(tmp_path / "weights.hdf5", "r") as file:
        assert "elmo_plugin/forget_bias" in file


def test_the_exact_forget_bias_does_not_hide_a_later_change(tmp_path):
    options = BiLmOptions(LstmOptions(3, 2, 2), n_tokens_vocab=3)
    tensors = tensors_for(options)
    tensors["lstm.forward_layers.0.bias"][:] = 0.1
    write_weights(WeightSet(options, tensors), tmp_path / "weights.hdf5")
    cell = reader_group(0, 0)
    raw = contents(tmp_path / "weights.hdf5")[f"{cell}/B"]
    raw[6] = 0.5
    change(tmp_path / "weights.hdf5", **{f"{cell}/B": raw})
    bias = read_weights(tmp_path / "weights.hdf5").tensors["lstm.forward_layers.0.bias"]

    assert bias[3] == 1.5
    assert torch.equal(bias[4:6], torch.full((2,), 0.1))


@pytest.mark.parametrize("count", [261, 262])
def test_number_of_characters(tmp_path, count):
    """261 in training, 262 in use, the same 261 rows in the file; written as 262."""
    options_file, weight_file = tiny.write(tmp_path / "a")
    content = json.loads((tmp_path / "a" / "options.json").read_text())
    content["char_cnn"]["n_characters"] = count
    (tmp_path / "a" / "options.json").write_text(json.dumps(content))
    weights = read_pair(options_file, weight_file)
    write_weights(weights, tmp_path / "weights.hdf5")

    assert weights.tensors["token_encoder.char_embedding"].shape == (262, 4)
    assert json.loads((tmp_path / "options.json").read_text())["char_cnn"]["n_characters"] == 262
    assert contents(tmp_path / "weights.hdf5")["char_embed"].shape == (261, 4)


def test_another_number_of_characters_is_refused(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    change(weight_file, char_embed=np.zeros((260, 4), "float32"))
    with pytest.raises(WeightFileError, match=r"char_embed +shape +\[260, 4\] +\[261, 4\]"):
        read_pair(options_file, weight_file)
    content = json.loads((tmp_path / "options.json").read_text())
    content["char_cnn"]["n_characters"] = 999
    (tmp_path / "options.json").write_text(json.dumps(content))
    with pytest.raises(
        OptionsError, match=r"options\.json: key 'char_cnn.n_characters' is 999, expected one of 261, 262"
    ):
        read_pair(options_file, weight_file)


def test_options_and_weights_of_two_models_give_one_table(tmp_path):
    """Options with 3 layers and without highways, a file with 2 layers, highways and a wider projection."""
    options_file, _ = tiny.write(tmp_path / "a", layers=3, highways=0)
    _, weight_file = tiny.write(tmp_path / "b", layers=2, highways=1, projection=5)

    with pytest.raises(WeightFileError) as caught:
        read_pair(options_file, weight_file)
    message = str(caught.value)
    assert f"{weight_file} (with {options_file}): the tensors do not fit the options: 6 missing, 4 surplus" in message
    rows = [re.split("  +", line.strip()) for line in message.splitlines()[2:-1]]
    assert len(rows) == 6 + 4 + 10
    assert ["RNN_1/RNN/MultiRNNCell/Cell2/LSTMCell/B", "missing", "-", "[48]"] in rows
    assert ["CNN_high_0/W_carry", "surplus", "[16, 16]", "-"] in rows
    assert ["CNN_proj/b_proj", "shape", "[5]", "[6]"] in rows


def test_half_a_softmax_is_refused(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    change(weight_file, **{"softmax/W": np.zeros((5, 6), "float32")})

    with pytest.raises(WeightFileError, match=r"softmax/b +missing +- +\[5\]"):
        read_pair(options_file, weight_file)


def test_the_softmax_can_be_left_out(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    change(weight_file, **{"softmax/W": np.zeros((5, 6), "float32"), "softmax/b": np.zeros(5, "float32")})

    assert set(read_pair(options_file, weight_file).softmax) == {"weight", "bias"}
    assert read_pair(options_file, weight_file, softmax=False).softmax is None


@pytest.mark.parametrize(
    "datasets,looks",
    [
        (["embedding"], "token vectors as written by bilm-tf's dump_token_embeddings"),
        (["0", "1", "sentence_to_index"], "vectors of sentences as written by `allennlp elmo`"),
        (["model/kernel"], "something else; it holds 'model/kernel'"),
        ([], "something else; it holds no dataset at all"),
    ],
)
def test_other_hdf5_files_are_named(tmp_path, datasets, looks):
    """Vectors are often given as weights."""
    options_file, weight_file = tiny.write(tmp_path)
    with h5py.File(weight_file, "w") as file:
        for name in datasets:
            file[name] = np.zeros((3, 4), "float32")

    with pytest.raises(WeightFileError, match=f"not the weights of a biLM .*looks like {looks}"):
        read_pair(options_file, weight_file)


def test_token_vectors_are_not_the_weights_of_a_word_level_model(tmp_path):
    options_file, weight_file = tiny.write(tmp_path, words=4)
    with h5py.File(weight_file, "w") as file:
        file["embedding"] = np.zeros((4, 6), "float32")

    with pytest.raises(WeightFileError, match="dump_token_embeddings"):
        read_pair(options_file, weight_file)


def test_values_and_types_are_checked(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    change(weight_file, **{"CNN_proj/b_proj": np.array([0, 0, np.nan, 0, 0, 0], "float32")})
    with pytest.raises(WeightFileError, match="tensor 'CNN_proj/b_proj' holds 1 of 6 values that are NaN"):
        read_pair(options_file, weight_file)
    change(weight_file, **{"CNN_proj/b_proj": np.zeros(6, "int64")})
    with pytest.raises(WeightFileError, match="dataset 'CNN_proj/b_proj' holds int64, expected float32"):
        read_pair(options_file, weight_file)
    change(weight_file, **{"CNN_proj/b_proj": np.full(6, 0.5, "float64")})
    assert read_pair(options_file, weight_file).tensors["token_encoder.projection.bias"].tolist() == [0.5] * 6


def test_a_newer_version_of_our_group_is_refused(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    with h5py.File(weight_file, "r+") as file:
        file.create_group("elmo_plugin").attrs["format_version"] = 2

    with pytest.raises(FormatError, match="group 'elmo_plugin' has version 2, this elmo_plugin knows 1. Update"):
        read_pair(options_file, weight_file)


@pytest.mark.parametrize("words", [5, None, {"a": 1}, ["a", 1], "ab"], ids=repr)
def test_a_vocabulary_that_is_no_list_of_words_is_refused(tmp_path, words):
    options_file, weight_file = tiny.write(tmp_path)
    change(weight_file, **{"elmo_plugin/vocabulary": np.frombuffer(json.dumps(words).encode(), dtype="uint8")})

    with pytest.raises(FormatError, match="dataset 'elmo_plugin/vocabulary' is .*, expected a list of words"):
        read_pair(options_file, weight_file)


def test_a_group_in_the_place_of_the_vocabulary_is_none(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    with h5py.File(weight_file, "r+") as file:
        file.create_group("elmo_plugin/vocabulary")

    assert read_pair(options_file, weight_file).vocabulary is None
    assert read_options(weight_file, options_file)[1] is None


def test_a_vocabulary_too_deep_to_read_is_refused(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    change(weight_file, **{"elmo_plugin/vocabulary": np.frombuffer(b"[" * 100_000, dtype="uint8")})

    with pytest.raises(FormatError, match="dataset 'elmo_plugin/vocabulary' is not a JSON list of words"):
        read_pair(options_file, weight_file)


def test_a_dataset_without_content_is_in_the_table(tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    change(weight_file, char_embed=h5py.Empty("float32"))

    with pytest.raises(WeightFileError, match=r"char_embed +shape +\[\] +\[261, 4\]"):
        read_pair(options_file, weight_file)


def test_vocabulary_of_a_word_level_model(tmp_path):
    """Beside the file, as bilm-tf leaves it, or inside, as we write it."""
    weights = read_pair(*tiny.write_word_level(tmp_path / "a", ["the", "cat"]))
    assert weights.vocabulary == ["<S>", "</S>", "<UNK>", "the", "cat"]
    write_weights(weights, tmp_path / "weights.hdf5")
    assert read_weights(tmp_path / "weights.hdf5").vocabulary == weights.vocabulary
    (tmp_path / "a" / "vocabulary.txt").write_text("the\n")
    with pytest.raises(WeightFileError, match="the vocabulary has 1 words, expected 5"):
        read_weights(tmp_path / "a")


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return tiny.write(folder, cells=2, projection=1, layers=1, words=3)


@in_folder
@given(data=st.data())
def test_a_file_cut_off_anywhere_is_refused(tmp_path, small_file, data):
    options_file, weight_file = small_file
    with open(weight_file, "rb") as file:
        content = file.read()
    cut = tmp_path / "weights.hdf5"
    cut.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])

    with pytest.raises((FormatError, WeightFileError), match="weights.hdf5"):
        read_pair(options_file, cut)


def test_damage_anywhere_gives_our_error_or_numbers(tmp_path, small_file):
    """hdf5 has no checksum over numbers; whatever else is hit must end in an error of ours, not in a crash."""
    options_file, weight_file = small_file
    with open(weight_file, "rb") as file:
        content = file.read()
    generator, damaged = random.Random(0), tmp_path / "weights.hdf5"
    for _ in range(150):
        changed = bytearray(content)
        for _ in range(generator.choice([1, 8])):
            changed[generator.randrange(len(content))] = generator.randrange(256)
        damaged.write_bytes(changed)
        try:
            read_pair(options_file, damaged)
        except EngineError as error:
            assert "weights.hdf5" in str(error)


def test_a_failed_write_leaves_the_old_files(tmp_path, monkeypatch):
    weights = read_pair(*tiny.write(tmp_path / "a"))
    write_weights(weights, tmp_path / "weights.hdf5")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def fail(*arguments, **keywords):
        raise OSError("disk full")

    monkeypatch.setattr(h5py.Group, "create_dataset", fail)
    with pytest.raises(OSError, match="disk full"):
        write_weights(dataclasses.replace(weights), tmp_path / "weights.hdf5")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("kind", ["external", "virtual"])
@pytest.mark.parametrize("name", ["CNN/b_cnn_0", "elmo_plugin/vocabulary"])
def test_numbers_of_another_file_are_not_read(kind, name, tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(16))
    with h5py.File(weight_file, "r+") as file:
        if name in file:
            del file[name]
        if kind == "external":
            file.create_dataset(name, (4,), "<f4", external=[(str(secret), 0, 16)])
        else:
            layout = h5py.VirtualLayout((4,), "<f4")
            layout[:] = h5py.VirtualSource(str(secret), "x", (4,))
            file.create_virtual_dataset(name, layout)
    with pytest.raises(FormatError, match=f"dataset '/{name}' takes its numbers from another file"):
        read_weights(weight_file)
    if name == "elmo_plugin/vocabulary":
        with pytest.raises(FormatError, match="takes its numbers from another file"):
            read_options(weight_file)


@pytest.mark.parametrize("name,shape", [("softmax/W", (10**11, 6)), ("elmo_plugin/vocabulary", (10**13,))])
@pytest.mark.parametrize("how", [{}, {"chunks": True, "compression": "gzip"}], ids=["plain", "compressed"])
def test_numbers_that_are_not_stored_do_not_fill_the_memory(name, shape, how, tmp_path):
    _, weight_file = tiny.write(tmp_path)
    with h5py.File(weight_file, "r+") as file:
        file.create_dataset(name, shape, "<f4" if name == "softmax/W" else "u1", **how)
        if name == "softmax/W":
            file.create_dataset("softmax/b", shape[:1], "<f4", **how)
    assert os.path.getsize(weight_file) < 1 << 20
    with pytest.raises(FormatError, match=f"refused, because its dataset '/{name}' stores 0 bytes for"):
        read_weights(weight_file)


def test_weights_may_be_compressed(tmp_path):
    _, weight_file = tiny.write(tmp_path)
    expected = read_weights(weight_file)
    content = contents(weight_file)
    with h5py.File(weight_file, "w") as file:
        for name, array in content.items():
            file.create_dataset(name, data=array, compression="gzip")

    assert_same_bits(read_weights(weight_file).tensors, expected.tensors)
