"""The methods of AllenNLP 0.9's `ElmoEmbedder`, and what the language model says."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from elmo_plugin.elmo_embedder import ElmoEmbedder
from elmo_plugin.engine import batch_to_ids
from elmo_plugin.engine.errors import OptionsError, ShapeError
from elmo_plugin.formats import WeightSet, pretrained, read_pair, write_weights
from tests import tiny
from tests.engine.tolerance import LAYERS, error

h5py = pytest.importorskip("h5py")

WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "sat", "."]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def with_softmax(files, tmp_path_factory):
    """A file with a softmax, and that softmax."""
    found = read_pair(*files)
    generator = torch.Generator().manual_seed(0)
    softmax = {
        "weight": torch.randn(len(WORDS), 6, generator=generator),
        "bias": torch.randn(len(WORDS), generator=generator),
    }
    path = tmp_path_factory.mktemp("softmax") / "weights.safetensors"
    write_weights(WeightSet(found.options, found.tensors, softmax, WORDS), path)
    return str(path), softmax


@pytest.mark.parametrize("state", ["carried", "reset", "warm"])
def test_sentences(files, state):
    elmo = ElmoEmbedder(*files, state=state)
    vectors = elmo.embed_batch(tiny.SENTENCES)
    elmo.reset_states()

    assert [found.shape for found in vectors] == [(3, len(words), elmo.dim) for words in tiny.SENTENCES]
    assert all(found.dtype == np.float32 for found in vectors)
    expected = elmo.bilm(batch_to_ids(tiny.SENTENCES)).layers
    for row, words in enumerate(tiny.SENTENCES):
        np.testing.assert_allclose(vectors[row], expected[:, row, 1 : len(words) + 1], atol=1e-5)
    if state != "carried":
        again = list(elmo.embed_sentences(iter(tiny.SENTENCES), batch_size=2))
        for one, other in zip([elmo.embed_sentence(words) for words in tiny.SENTENCES], again):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_carried_state_goes_from_call_to_call(files):
    elmo = ElmoEmbedder(*files)
    first, second = elmo.embed_sentence(["a", "b"]), elmo.embed_sentence(["a", "b"])
    elmo.reset_states()

    assert np.abs(first - second)[1:].max() > 1e-3
    np.testing.assert_array_equal(elmo.embed_sentence(["a", "b"]), first)


def test_carried_state_is_that_of_allennlp(files):
    stock = pytest.importorskip("allennlp.modules.elmo")._ElmoBiLm(*files).eval()
    elmo = ElmoEmbedder(*files)
    rest = [words for words in tiny.SENTENCES if words]  # 0.9 takes no blank lines
    for batch in (rest, rest[:2], rest[::-1]):
        with torch.no_grad():
            layers = stock(batch_to_ids(batch))["activations"]
        for row, found in enumerate(elmo.embed_batch(batch)):
            for layer in range(3):
                expected = layers[layer][row, 1 : len(batch[row]) + 1]
                assert error(torch.from_numpy(found[layer]), expected) <= LAYERS[torch.float32]


def test_padded_batch(files):
    elmo = ElmoEmbedder(*files, state="reset")
    activations, mask = elmo.batch_to_embeddings(tiny.SENTENCES)

    assert activations.shape == (5, 3, 7, 12) and mask.sum(dim=1).tolist() == [7, 1, 0, 4, 3]
    assert float(activations[1, :, 1:].abs().max()) == 0.0
    assert torch.equal(activations[3, :, :4], torch.from_numpy(elmo.embed_batch(tiny.SENTENCES)[3]))


def test_file(files, tmp_path):
    (tmp_path / "text").write_text("The cat\n\nsat\n")
    elmo = ElmoEmbedder(*files, state="reset")
    with open(tmp_path / "text", encoding="utf-8") as text:
        elmo.embed_file(text, str(tmp_path / "out"), output_format="average", batch_size=2)

    with h5py.File(tmp_path / "out", "r") as file:
        assert sorted(file) == ["0", "1", "2", "sentence_to_index"]
        np.testing.assert_allclose(file["0"], elmo.embed_sentence(["The", "cat"]).mean(axis=0), atol=1e-5)
        assert file["1"].shape == (0, 12)


@pytest.mark.parametrize("output", ["weights.hdf5", "options.json"])
def test_weights_are_not_overwritten(output, tmp_path):
    options_file, weight_file = tiny.write(tmp_path)
    before = (tmp_path / output).read_bytes()
    (tmp_path / "text").write_text("The cat")
    for elmo in (ElmoEmbedder(options_file, weight_file), ElmoEmbedder(weights=str(tmp_path))):
        with pytest.raises(OptionsError, match="belongs to the biLM, expected another file"):
            elmo.embed_file(tmp_path / "text", tmp_path / output)
    assert (tmp_path / output).read_bytes() == before


def test_strings_are_no_sentences(files):
    elmo = ElmoEmbedder(*files)
    with pytest.raises(ShapeError, match="the sentence is the string 'The cat', expected a list of tokens"):
        elmo.embed_sentence("The cat")
    with pytest.raises(ShapeError, match="sentence 1 is the string 'b'"):
        elmo.embed_batch([["a"], "b"])


@pytest.mark.parametrize(
    "sentence, message",
    [
        (["a", None], "token 1 is 'None' of type NoneType, expected text"),
        ([b"a"], "token 0 is .* of type bytes"),
        ([["a"]], "token 0 is .* of type list"),
        (iter(["a"]), "is of type list_iterator, expected a list of tokens"),
    ],
    ids=["none", "bytes", "list", "iterator"],
)
def test_tokens_are_text(files, sentence, message):
    elmo = ElmoEmbedder(*files)
    with pytest.raises(ShapeError, match=f"the sentence.* {message}"):
        elmo.embed_sentence(sentence)
    with pytest.raises(ShapeError, match=f"sentence 0.* {message}"):
        elmo.batch_to_embeddings([sentence])


def test_nothing(files):
    for state in ("carried", "reset"):
        elmo = ElmoEmbedder(*files, state=state)
        assert elmo.embed_batch([]) == [] and list(elmo.embed_sentences([])) == []
        assert elmo.embed_sentence([]).shape == (3, 0, 12)


def test_which_bilm(files, monkeypatch):
    asked = []
    monkeypatch.setattr(pretrained, "fetch", lambda url: asked.append(url) or Path(files[".json" not in url]))
    monkeypatch.setattr(pretrained, "_check_published", lambda *files: None)  # they are small
    ElmoEmbedder()
    ElmoEmbedder(weight_file=files[1])

    assert [url.rsplit("_", 1)[1] for url in asked] == ["options.json", "weights.hdf5", "options.json"]
    assert all("2x4096_512_2048cnn_2xhighway/" in url for url in asked)
    with pytest.raises(OptionsError, match="both name a biLM. Give one of the two"):
        ElmoEmbedder(*files, weights="builtin")


def expected_probabilities(elmo, softmax, sentence):
    """`(2, tokens + 2, words)`: what each step's output says about its neighbour."""
    top = elmo.bilm(batch_to_ids([sentence])).layers[-1, 0].double()
    scores = torch.stack(top.chunk(2, dim=1)) @ softmax["weight"].double().t() + softmax["bias"].double()
    return torch.log_softmax(scores, dim=2)


def test_log_probabilities(with_softmax):
    path, softmax = with_softmax
    elmo = ElmoEmbedder(weights=path, state="reset")
    sentence = ["the", "dog", "sat"]
    forward, backward = expected_probabilities(elmo, softmax, sentence)
    rows = [3, 2, 5]
    found = elmo.log_probabilities(sentence)

    np.testing.assert_allclose(found.forward, [forward[step, row] for step, row in enumerate(rows)], atol=1e-5)
    np.testing.assert_allclose(found.backward, [backward[step + 2, row] for step, row in enumerate(rows)], atol=1e-5)
    assert found.end == pytest.approx(float(forward[3, 1]), abs=1e-5)
    assert found.begin == pytest.approx(float(backward[1, 0]), abs=1e-5)
    assert found.is_unknown.tolist() == [False, True, False]
    total = found.forward.sum() + found.backward.sum() + found.end + found.begin
    assert elmo.perplexity(sentence) == pytest.approx(math.exp(-total / 8))


def test_most_likely(with_softmax):
    path, softmax = with_softmax
    elmo = ElmoEmbedder(weights=path, state="reset")
    sentence = ["the", "cat", "sat"]
    forward, backward = expected_probabilities(elmo, softmax, sentence)
    both = torch.softmax((forward[1] + backward[3])[3:], dim=0)
    found = elmo.most_likely(sentence, 1, k=4)

    assert [word for word, _ in found] == [WORDS[3 + row] for row in both.argsort(descending=True)]
    np.testing.assert_allclose([value for _, value in found], both.sort(descending=True).values, atol=1e-5)
    other = elmo.most_likely(["the", "anything", "sat"], 1, k=4)
    np.testing.assert_allclose([value for _, value in other], [value for _, value in found], atol=1e-6)


def test_scores_leave_the_carried_state_alone(with_softmax):
    elmo = ElmoEmbedder(weights=with_softmax[0])
    first = elmo.log_probabilities(["the", "cat"])
    elmo.embed_sentence(["sat"])
    expected = elmo.bilm.carried.hidden.clone()

    np.testing.assert_array_equal(elmo.log_probabilities(["the", "cat"]).forward, first.forward)
    assert torch.equal(elmo.bilm.carried.hidden, expected)


def test_scores_that_cannot_be(files, with_softmax, tmp_path):
    with pytest.raises(OptionsError, match="hold no softmax, which the probabilities of words are computed with"):
        ElmoEmbedder(*files).perplexity(["a"])
    elmo = ElmoEmbedder(weights=with_softmax[0])
    with pytest.raises(OptionsError, match="position is 2, expected 0 to 1 for 2 tokens"):
        elmo.most_likely(["a", "b"], 2)
    with pytest.raises(OptionsError, match="k is 5, expected 1 to 4"):
        elmo.most_likely(["a", "b"], 0, k=5)
    with pytest.raises(ShapeError, match="no tokens, expected one or more"):
        elmo.log_probabilities([])
