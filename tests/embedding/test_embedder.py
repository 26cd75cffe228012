import numpy as np
import pytest
import torch

from elmo_plugin.embedding.embedder import SentenceEmbedder, build_bilm
from elmo_plugin.engine import batch_to_ids
from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError
from elmo_plugin.formats import read_pair, read_weights
from tests import tiny

pytest.importorskip("h5py")

TEXT = tiny.SENTENCES * 3


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return read_pair(*tiny.write(tmp_path_factory.mktemp("tiny")))


def expected(bilm, sentences, rows):
    """In batches of their order, each sentence `(tokens, layers, dim)`."""
    vectors = []
    for start in range(0, len(sentences), rows):
        batch = sentences[start : start + rows]
        layers = bilm(batch_to_ids(batch)).layers
        vectors += [layers[:, row, 1 : len(words) + 1].transpose(0, 1) for row, words in enumerate(batch)]
    return torch.cat(vectors).numpy()


@pytest.mark.parametrize("state", ["reset", "warm"])
@pytest.mark.parametrize("tokens", [1, 10, 1000])
def test_any_batches_give_the_same_vectors(weights, state, tokens):
    bilm = build_bilm(weights, state=state)
    embedder = SentenceEmbedder(bilm, batch_tokens=tokens)

    np.testing.assert_allclose(embedder.embed(TEXT), expected(bilm, TEXT, 1), atol=1e-5)


@pytest.mark.parametrize("tokens", [1, 1000])
@pytest.mark.parametrize("rows", [1, 4, 64])
@pytest.mark.parametrize("cuts", [[], [1], [3, 4, 11]], ids=str)
def test_carried_state_does_not_depend_on_windows(weights, tokens, rows, cuts):
    bilm = build_bilm(weights, state="carried")
    embedder = SentenceEmbedder(bilm, batch_tokens=tokens, batch_rows=rows)
    borders = [0, *cuts, len(TEXT)]
    found = [embedder.embed(TEXT[start:stop], first=start) for start, stop in zip(borders, borders[1:])]
    bilm.reset_states()

    np.testing.assert_allclose(np.concatenate(found), expected(bilm, TEXT, rows), atol=1e-5)


def test_layers(weights):
    bilm = build_bilm(weights, state="reset")
    everything = SentenceEmbedder(bilm).embed(TEXT)
    for layers, of_all in (
        ("top", everything[:, 2]),
        ("average", everything.mean(axis=1)),
        ("0,2", everything[:, ::2]),
    ):
        np.testing.assert_allclose(SentenceEmbedder(bilm, layers=layers).embed(TEXT), of_all, atol=1e-6)


@pytest.mark.parametrize("layers", ["all", "top"])
@pytest.mark.parametrize("state", ["reset", "carried"])
def test_vectors_go_into_any_memory(weights, layers, state):
    embedder = SentenceEmbedder(build_bilm(weights, state=state, word_cache=0), layers=layers, batch_tokens=10)
    vectors = embedder.embed(TEXT)
    backwards = np.full(vectors.T.shape, np.nan, dtype=np.float32).T
    embedder.carried = None
    embedder.embed_into(backwards, TEXT)

    np.testing.assert_array_equal(backwards, vectors)


def test_word_cache_decides_about_nothing_behind_a_part(weights):
    bilm = build_bilm(weights, state="reset")
    embedder = SentenceEmbedder(bilm)
    embedder.begin_part()
    first = embedder.embed(TEXT)
    embedder.embed([["other", "words"], ["The"]])
    embedder.begin_part()

    np.testing.assert_array_equal(embedder.embed(TEXT), first)


def test_precision(weights):
    exact = SentenceEmbedder(build_bilm(weights, state="reset")).embed(TEXT)
    rounded = SentenceEmbedder(build_bilm(weights, state="reset", precision="int8")).embed(TEXT)

    assert 1e-4 < np.abs(rounded - exact).max() < 1.0


def test_nothing(weights):
    bilm = build_bilm(weights, state="reset")

    assert SentenceEmbedder(bilm).embed([]).shape == (0, 3, 12)
    assert SentenceEmbedder(bilm, layers="top").embed([[], []]).shape == (0, 12)


def test_word_level(tmp_path):
    found = read_weights(tmp_path if tiny.write_word_level(tmp_path, ["a", "b"]) else "")
    embedder = SentenceEmbedder(build_bilm(found, state="warm"), found.vocabulary)
    vectors = embedder.embed([["a", "unseen"], [], ["a"]])

    assert vectors.shape == (3, 3, 12)
    np.testing.assert_allclose(vectors[0, 0], vectors[2, 0])


@pytest.mark.parametrize("settings", [{"batch_tokens": 0}, {"batch_rows": -1}], ids=str)
def test_batches_of_nothing_are_refused(weights, settings):
    with pytest.raises(OptionsError, match="--batch-(tokens|size) is .*, expected 1 or more"):
        SentenceEmbedder(build_bilm(weights, state="reset"), **settings)


@pytest.mark.parametrize("device", ["cuda", "cuda:3"])
def test_a_gpu_that_is_not_there(weights, device, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(
        BackendUnavailableError, match=f"device '{device}': PyTorch .* finds 0 GPUs here. Use .* the CPU"
    ):
        build_bilm(weights, state="reset", device=device)


def test_long_sentences_and_tokens(weights):
    bilm = build_bilm(weights, state="reset")
    vectors = SentenceEmbedder(bilm, batch_tokens=100).embed([["a"] * 10_000, ["x" * 10_000_000], ["\0"]])

    assert vectors.shape == (10_002, 3, 12)
    assert np.isfinite(vectors).all()
