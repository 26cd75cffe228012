import pytest
import torch

from elmo_plugin.benchmark import agreement
from elmo_plugin.benchmark.peers import PeerUnavailableError, Setting, engine, entries
from elmo_plugin.benchmark.sizes import random_model
from elmo_plugin.engine import backends
from elmo_plugin.engine.characters import batch_to_ids

SETTING = Setting(torch.device("cpu"), threads=1)
IDS = batch_to_ids([["A", "small", "test", "."], ["Yes"]])


def test_every_backend_is_a_peer():
    ours = [name for name, entry in entries().items() if entry.is_ours]

    assert ours[: len(backends.names())] == backends.names()
    assert "cpu+words" in ours and "reference+words" not in ours


@torch.no_grad()
def test_words_are_kept_only_where_the_name_says_so():
    for name, kept in (("cpu", None), ("cpu+words", 7)):
        peer = engine.builder(name)(random_model("tiny", 0), SETTING, "float32")
        layers = peer.layers(peer.prepare(IDS))
        cache = peer._elmo.bilm.word_cache

        assert peer.name == name
        assert torch.equal(peer.layers(peer.prepare(IDS)), layers)
        assert (None if cache is None else len(cache._words._held.value._slots)) == kept


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("backend", ["compiled", "cpu", "cpu+words"])
def test_rounded_products(backend, precision, require_backend):
    name = backend.replace(engine.WORDS, "")
    require_backend(name)
    if backends.get(name).refuses(precision) is not None:
        pytest.skip(f"no {precision} here")
    exact, peer = (engine.builder(backend)(random_model("tiny", 0), SETTING, name) for name in ("float32", precision))

    found = agreement.error(peer.layers(IDS), exact.layers(IDS), IDS.any(dim=2))

    assert peer.name == f"{backend} {precision}"
    assert peer.rounding == (precision if precision == "float16" else f"int8 of {name}")
    assert 0 < found <= agreement.TOLERANCE[peer.rounding] < 0.2


@pytest.mark.parametrize("precision,dtype", [("float32", torch.float32), ("float64", torch.float64)])
def test_precision_is_what_is_computed_in(precision, dtype):
    peer = engine.builder("cpu")(random_model("tiny", 0), SETTING, precision)

    layers, vectors = peer.layers(peer.prepare(IDS)), peer.vectors(peer.prepare(IDS))

    assert layers.dtype == vectors.dtype == dtype
    assert peer.precision == precision
    assert peer.name == ("cpu" if precision == "float32" else "cpu float64")
    assert layers.shape == (3, 2, 4, 16)
    torch.testing.assert_close(vectors, layers.mean(dim=0))
    assert peer.seconds(peer.prepare(IDS)) > 0


def test_every_call_starts_anew():
    peer = engine.builder("cpu")(random_model("tiny", 0), SETTING, "float32")

    assert torch.equal(peer.layers(IDS), peer.layers(IDS))


@pytest.mark.parametrize(
    "backend,device,message",
    [("no-such", "cpu", "unknown backend 'no-such'"), ("cpu", "meta", "does not run on meta")],
)
def test_backend_that_cannot_run(backend, device, message):
    with pytest.raises(PeerUnavailableError, match=message):
        engine.builder(backend)(random_model("tiny", 0), Setting(torch.device(device), 1), "float32")


def test_a_precision_that_a_backend_has_not():
    with pytest.raises(PeerUnavailableError, match="precision 'int8' cannot be had here: the backend 'reference'"):
        engine.builder("reference")(random_model("tiny", 0), SETTING, "int8")
