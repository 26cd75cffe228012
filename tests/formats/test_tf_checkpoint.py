import json
import re

import numpy as np
import pytest
import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.errors import OptionsError, WeightFileError
from elmo_plugin.formats import read_options, read_pair, read_weights
from tests import tiny
from tests.formats import bundles
from tests.formats.strategies import assert_same_bits

ARCHITECTURES = {
    "usual": {},
    "one layer": {"layers": 1},
    "three layers": {"layers": 3},
    "no highway": {"highways": 0},
    "no projections": {"filters": [[1, 2], [2, 4]], "cells": 6},
    "words": {"words": 9},
}
each_architecture = pytest.mark.parametrize("changes", list(ARCHITECTURES.values()), ids=list(ARCHITECTURES))


@each_architecture
def test_a_checkpoint_is_the_dump_of_the_same_weights(tmp_path, changes):
    expected = read_pair(*tiny.write(tmp_path / "dump", seed=3, **changes))
    bundles.write_checkpoint(tmp_path / "training", seed=3, **changes)
    found = read_weights(tmp_path / "training")

    assert_same_bits(found.everything(), expected.everything())
    assert found.options.lstm == expected.options.lstm
    assert found.source == str(tmp_path / "training" / "model.ckpt-0.index")


def test_softmax_and_vocabulary(tmp_path):
    index = bundles.write_checkpoint(tmp_path, softmax=5)
    words = ["<S>", "</S>", "<UNK>", "a", "b"]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    found = read_weights(tmp_path)

    assert found.softmax["weight"].shape == (5, 6) and found.softmax["bias"].shape == (5,)
    assert np.array_equal(found.softmax["weight"].numpy(), bundles.variables(tiny.options(), 0, 5)["lm/softmax/W"])
    assert found.vocabulary == words
    without = read_weights(index, softmax=False)
    assert without.softmax is None and without.vocabulary is None


def test_a_module_of_tensorflow_hub_gives_the_vectors_of_allennlp(tmp_path):
    """As a SavedModel, whose options have to be put beside it."""
    elmo = pytest.importorskip("allennlp.modules.elmo")
    theirs = elmo._ElmoBiLm(*tiny.write(tmp_path / "dump"))
    bundles.write_bundle(tmp_path / "hub" / "variables" / "variables", bundles.hub_variables(tiny.options()))
    (tmp_path / "hub" / "saved_model.pb").write_bytes(b"\x08\x01")
    (tmp_path / "dump" / "options.json").rename(tmp_path / "hub" / "options.json")
    found = read_weights(tmp_path / "hub")
    bilm = BiLm(found.options, state="reset")
    bilm.load_tensors(found.tensors, found.source)
    ids = batch_to_ids([sentence for sentence in tiny.SENTENCES if sentence])

    assert (bilm(ids).layers - torch.stack(theirs(ids)["activations"])).abs().max() < 1e-5


def test_a_biLM_inside_another_model(tmp_path):
    """Variables under `module/`, as a task model has them that took the module in, and others beside them."""
    variables = {f"module/{name}": array for name, array in bundles.hub_variables(tiny.options()).items()}
    bundles.write_bundle(tmp_path / "x", {**variables, "dense/kernel": np.ones((2, 2), "float32")})
    (tmp_path / "options.json").write_text(json.dumps(tiny.options()))

    assert_same_bits(read_weights(tmp_path).tensors, read_pair(*tiny.write(tmp_path / "dump")).tensors)


@pytest.mark.parametrize(
    "name", ["model.ckpt-5", "model.ckpt-5.index", "model.ckpt-5.meta", "model.ckpt-5.data-00000-of-00001"]
)
def test_every_name_of_a_checkpoint(tmp_path, name):
    index = bundles.write_checkpoint(tmp_path, step=5)
    bundles.write_checkpoint(tmp_path, step=9, seed=1)
    (tmp_path / "model.ckpt-5.meta").write_bytes(b"graph")

    assert read_weights(tmp_path / name).source == str(index)
    assert read_weights(tmp_path).source == str(tmp_path / "model.ckpt-9.index")


def test_several_checkpoints_and_none_that_is_the_last(tmp_path):
    for step in (1, 2):
        bundles.write_checkpoint(tmp_path, step=step)
    names = r"several checkpoints: model.ckpt-1.index, model.ckpt-2.index"
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "C:\\\\gone\\\\model.ckpt-3"\n')
    with pytest.raises(WeightFileError, match=f"{names}; its file 'checkpoint' names model.ckpt-3.index. Name one"):
        read_weights(tmp_path)
    (tmp_path / "checkpoint").unlink()
    with pytest.raises(WeightFileError, match=f"{names}; there is no file 'checkpoint' that names one. Name one"):
        read_weights(tmp_path)


def test_without_options_the_message_says_what_the_variables_know(tmp_path):
    bundles.write_checkpoint(tmp_path, softmax=5)
    (tmp_path / "options.json").unlink()
    for read in (read_weights, read_options):
        with pytest.raises(WeightFileError, match="a TensorFlow checkpoint needs its options file beside it") as caught:
            read(tmp_path)
        draft = json.loads(str(caught.value).split("Its variables say ")[1].split("; they do not say")[0])
        expected = tiny.options()
        assert draft["n_tokens_vocab"] == 5
        for section, values in draft.items():
            if section != "n_tokens_vocab":
                assert values == {key: expected[section][key] for key in values}
        assert "lstm.use_skip_connections, lstm.cell_clip, lstm.proj_clip, char_cnn.activation" in str(caught.value)


def test_options_of_another_model_give_one_table(tmp_path):
    bundles.write_checkpoint(tmp_path, layers=2)
    (tmp_path / "options.json").write_text(json.dumps(tiny.options(layers=3, projection=5)))
    with pytest.raises(
        WeightFileError, match=r"model.ckpt-0.index \(with .*options.json\): the tensors do not fit"
    ) as caught:
        read_weights(tmp_path)
    assert re.search(r"RNN_0/RNN/MultiRNNCell/Cell2/LSTMCell/B +missing", str(caught.value))
    assert "Adagrad" not in str(caught.value) and "global_step" not in str(caught.value)


def test_options_given_with_it(tmp_path):
    index = bundles.write_checkpoint(tmp_path / "a")
    options_file = tmp_path / "options.json"
    (tmp_path / "a" / "options.json").rename(options_file)

    assert read_pair(options_file, index).options.lstm.dim == 12
    assert read_pair(options_file, tmp_path / "a").options.lstm.dim == 12
    assert read_options(index, options_file)[0].lstm.dim == 12
    with pytest.raises(OptionsError, match="nowhere.json: cannot be read"):
        read_pair(tmp_path / "nowhere.json", index)


def test_what_has_no_biLM_or_several(tmp_path):
    bundles.write_bundle(tmp_path / "other" / "x", {"dense/kernel": np.ones((2, 2), "float32")})
    with pytest.raises(WeightFileError, match="expected one biLM .* found 'dense/kernel'. Is it the checkpoint"):
        read_weights(tmp_path / "other")
    bundles.write_bundle(tmp_path / "none" / "x", {})
    with pytest.raises(WeightFileError, match="found no variables"):
        read_weights(tmp_path / "none")
    both = {f"{scope}/{name}": array for scope in "ab" for name, array in bundles.hub_variables(tiny.options()).items()}
    bundles.write_bundle(tmp_path / "two" / "x", both)
    with pytest.raises(WeightFileError, match=r"found several, in \['a/bilm/', 'b/bilm/'\]"):
        read_weights(tmp_path / "two")


def test_a_surplus_variable_of_the_biLM_is_in_the_table(tmp_path):
    bundles.write_bundle(tmp_path / "x", {**bundles.variables(tiny.options()), "lm/attention": np.ones(3, "float32")})
    (tmp_path / "options.json").write_text(json.dumps(tiny.options()))
    with pytest.raises(WeightFileError, match=r"attention +surplus +\[3\]"):
        read_weights(tmp_path)


def test_numbers_are_checked(tmp_path):
    broken = bundles.variables(tiny.options())
    broken["lm/CNN_proj/b_proj"][2] = np.nan
    bundles.write_bundle(tmp_path / "x", broken)
    (tmp_path / "options.json").write_text(json.dumps(tiny.options()))
    with pytest.raises(WeightFileError, match="tensor 'lm/CNN_proj/b_proj' holds 1 of 6 values that are NaN"):
        read_weights(tmp_path)


def test_vocabulary_of_a_word_level_model(tmp_path):
    bundles.write_checkpoint(tmp_path, words=4)
    (tmp_path / "vocabulary.txt").write_text("<S>\n</S>\n<UNK>\ncat\n")

    assert read_weights(tmp_path).vocabulary == ["<S>", "</S>", "<UNK>", "cat"]
    assert read_options(tmp_path)[1] == ["<S>", "</S>", "<UNK>", "cat"]
