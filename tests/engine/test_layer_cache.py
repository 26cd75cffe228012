"""The layer cache: cached equals computed, what is computed and when, changes of the biLM, trouble with the folder."""

import copy
import logging
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import sys

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("lmdb")

from elmo_plugin.engine import BiLm, Elmo, OptionsError, layer_store
from elmo_plugin.engine.errors import EngineError, FormatError, ShapeError
from elmo_plugin.engine.generation import DATA, Generation
from elmo_plugin.engine.layer_cache import Counts, LayerCache
from tests.engine import models
from tests.engine.tolerance import LAYERS, assert_close, error

fork = multiprocessing.get_context("fork")

LENGTHS = [3, 0, 5, 1, 4]


@pytest.fixture(autouse=True)
def large_disk(monkeypatch):
    monkeypatch.setattr(layer_store, "RESERVE", 0)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def ran(monkeypatch):
    """The shapes of the batches that the biLM itself ran."""
    shapes = []
    run = BiLm.run

    def count(self, ids):
        shapes.append(tuple(ids.shape[:2]))
        return run(self, ids)

    monkeypatch.setattr(BiLm, "run", count)
    return shapes


def both(cache, model, ids):
    """Layers and mask with and without the cache, sentence boundaries included."""
    cached, computed = cache.run(model, ids), model.run(ids)
    for with_boundaries in (True, False):
        assert torch.equal(cached.mask(with_boundaries), computed.mask(with_boundaries))
    assert cached.layers[0].dtype == computed.layers[0].dtype
    return cached.output(True).layers, computed.output(True).layers


def are_same(cache, model, ids):
    return torch.equal(*both(cache, model, ids))


def are_close(cache, model, ids):
    """Where sentences stand in other batches than they were computed in."""
    cached, computed = both(cache, model, ids)
    return error(cached, computed) <= LAYERS[cached.dtype]


def files(folder):
    return sorted(folder.glob("*/" + DATA))


# Cached equals computed


@st.composite
def histories(draw):
    """A model, and batches of a few sentences that come back in other batches, beside others, with other padding."""
    content = draw(models.architectures())
    pool = [
        models.ids_for(models.weights(**content).content, [length], seed)[0]
        for seed, length in enumerate(draw(st.lists(st.integers(0, 9), min_size=1, max_size=6)))
    ]
    places = st.lists(st.integers(0, len(pool) - 1), max_size=7)
    batches = draw(st.lists(st.tuples(places, st.integers(0, 2)), min_size=1, max_size=5))
    return content, pool, batches


def batch_of(pool, places, padding):
    longest = max([len(pool[place]) for place in places], default=0) + padding
    ids = torch.zeros((len(places), longest) + tuple(pool[0].shape[1:]), dtype=torch.int64)
    for row, place in enumerate(places):
        ids[row, : len(pool[place])] = pool[place]
    return ids


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories(), dtype=st.sampled_from([torch.float64, torch.float32]), warm=st.booleans())
def test_cached_equals_computed(tmp_path_factory, history, dtype, warm):
    content, pool, batches = history
    model = models.bilm(models.weights(**content), dtype, state="warm" if warm else "reset")
    if warm:
        model.warm.set(model.warm.hidden.new_full((), 0.1), model.warm.cell.new_full((), -0.2))
    cache = LayerCache(tmp_path_factory.mktemp("cache"))
    seen = set()
    for places, padding in batches:
        ids = batch_of(pool, places, padding)
        cached, computed = both(cache, model, ids)
        assert_close(cached, computed, LAYERS[dtype])
        seen |= {pool[place].numpy().tobytes() for place in places if len(pool[place])}
        assert cache.counts.computed == len(seen)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_first_and_later_calls_equal_the_model_bit_for_bit(folder, dtype):
    """Where the same sentences stand in a batch: products over other batches are rounded otherwise."""
    model, ids = models.bilm(dtype=dtype), models.random_ids(LENGTHS)

    assert are_same(LayerCache(folder), model, ids)
    cache = LayerCache(folder)
    assert are_same(cache, model, ids)
    assert cache.counts == Counts(read=4)


def test_word_level(folder):
    model, ids = models.bilm(models.weights(words=40)), models.random_word_ids(LENGTHS, 40)

    for _ in range(2):
        assert are_same(LayerCache(folder), model, ids)


def test_words_that_differ_late_are_different_sentences(folder):
    model, cache = models.bilm(), LayerCache(folder)
    ids = models.random_ids([4]).repeat(3, 1, 1)
    ids[1, 3, 40] = 7  # behind the end of the word
    ids[2, 3:] = 0

    cached, computed = both(cache, model, ids)
    assert_close(cached, computed, LAYERS[torch.float64])
    assert cache.counts == Counts(computed=3)


def test_ids_of_other_dtypes_are_the_same_sentences(folder):
    model, cache = models.bilm(), LayerCache(folder)
    cache.run(model, models.random_ids([4]))
    cache.run(model, models.random_ids([4]).to(torch.int16))

    assert cache.counts == Counts(read=1, computed=1)


def test_ids_that_cannot_be_are_refused_as_without_it(folder):
    model, cache = models.bilm(), LayerCache(folder)

    for ids in (models.random_ids([3]) + 65536 * 5, models.random_ids([3])[..., :9], torch.zeros(1, 2)):
        with pytest.raises(ShapeError):
            cache.run(model, ids)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("stored", ["float16", "float32"])
def test_stored_dtype(folder, stored, dtype):
    """What is stored narrower is rounded from the first call on, and the same in all calls."""
    model, ids = models.bilm(dtype=dtype), models.random_ids(LENGTHS)
    first, computed = both(LayerCache(folder, dtype=stored), model, ids)
    again, _ = both(LayerCache(folder, dtype=stored), model, ids)

    expected = computed.to(getattr(torch, stored)).to(dtype)
    assert torch.equal(first, expected) and torch.equal(again, expected)
    assert_close(first, computed, 1e-3 if stored == "float16" else 1e-7)


def test_dtypes_do_not_meet(folder):
    model, ids = models.bilm(dtype=torch.float32), models.random_ids(LENGTHS)
    for dtype in ("float16", "float32", "float64"):
        cache = LayerCache(folder, dtype=dtype)
        cache.run(model, ids)
        assert cache.counts.computed == 4
    exact = LayerCache(folder)  # float32, that of the weights
    exact.run(model, ids)

    assert exact.counts.read == 4


def test_float16_takes_half_the_space(tmp_path):
    sizes = []
    for dtype in ("float16", "float32"):
        model = models.bilm(models.weights(projection=64, cells=64))
        LayerCache(tmp_path / dtype, dtype=dtype).run(model, models.random_ids([200]))
        sizes.append(files(tmp_path / dtype)[0].stat().st_size)

    assert 1.8 < sizes[1] / sizes[0] < 2.2


def test_values_too_large_for_float16_are_computed(folder, caplog):
    model, ids = models.bilm(dtype=torch.float32), models.random_ids(LENGTHS)
    with torch.no_grad():
        model.token_encoder.projection.bias += 70_000
    cache = LayerCache(folder, dtype="float16")

    for _ in range(2):
        assert are_same(cache, model, ids)
    assert len(caplog.records) == 1 and "float16 cannot hold some of these layers" in caplog.text


# What is computed


def test_only_what_is_missing_is_computed(folder, ran):
    model, cache = models.bilm(), LayerCache(folder)
    ids = models.random_ids([3, 5, 2, 6])
    cache.run(model, ids[[0, 2]])
    cache.run(model, ids)
    cache.run(model, ids[[3, 1]])

    assert ran == [(2, 3), (2, 6)]
    assert cache.counts == Counts(read=4, computed=4)


def test_equal_sentences_of_a_batch_are_computed_once(folder, ran):
    model, cache = models.bilm(), LayerCache(folder)
    ids = models.random_ids([3, 5])[[0, 1, 0, 0, 1]]
    cached = cache.run(model, ids).output(True).layers

    assert ran == [(2, 5)] and cache.counts == Counts(computed=2)
    assert_close(cached, model.run(ids).output(True).layers, LAYERS[torch.float64])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0), (2, 3)], ids=str)
def test_batch_without_words(folder, shape):
    model, cache = models.bilm(), LayerCache(folder)
    ids = torch.zeros(shape + (50,), dtype=torch.int64)

    assert are_same(cache, model, ids)
    assert cache.counts == Counts() and files(folder) == []


def test_objects_share_a_folder(folder, ran):
    model, ids = models.bilm(), models.random_ids(LENGTHS)
    one, other = LayerCache(folder), LayerCache(str(folder))
    one.run(model, ids)
    other.run(model, ids)
    one.run(model, ids)

    assert ran == [(4, 5)]
    assert other.counts == Counts(read=4)


# Changes of the biLM


CHANGES = {
    "weights": lambda: models.bilm(models.weights(seed=1)),
    "clip": lambda: models.bilm(models.weights(clip=0.3)),
    "dtype": lambda: models.bilm(dtype=torch.float32),
    "warm": lambda: warm(0.1),
    "another warm state": lambda: warm(0.2),
}


def warm(value):
    model = models.bilm(state="warm")
    model.warm.set(model.warm.hidden.new_full((), value), model.warm.cell.new_full((), value))
    return model


def test_other_models_in_one_folder(folder):
    ids = models.random_ids(LENGTHS)
    LayerCache(folder).run(models.bilm(), ids)

    for make in CHANGES.values():
        cache = LayerCache(folder)
        assert are_same(cache, make(), ids)
        assert cache.counts == Counts(computed=4)
    for make in [models.bilm, *CHANGES.values()]:
        cache = LayerCache(folder)
        assert are_same(cache, make(), ids)
        assert cache.counts == Counts(read=4)


def test_weights_that_change_under_way(folder):
    model, ids, cache = models.bilm(), models.random_ids(LENGTHS), LayerCache(folder)
    cache.run(model, ids)
    before = copy.deepcopy(model.state_dict())

    with torch.no_grad():
        model.lstm.forward_layers[0].bias += 0.1
    assert are_same(cache, model, ids)
    model.lstm.forward_layers[0].bias.data += 0.1
    assert are_same(cache, model, ids)
    assert cache.counts == Counts(computed=12)
    model.load_state_dict(before)
    assert are_same(cache, model, ids)
    assert cache.counts == Counts(read=4, computed=12)


def test_thawed_model_is_run_and_trained(folder, ran, caplog):
    model, ids, cache = models.bilm(), models.random_ids(LENGTHS), LayerCache(folder)
    cache.run(model, ids)
    model.requires_grad_(True)
    model.fine_tune = True
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        cache.run(model, ids).layers[2].sum().backward()
        optimizer.step()

    assert cache.counts == Counts(computed=4) and len(ran) == 3
    assert model.lstm.forward_layers[0].bias.grad.abs().max() > 0
    assert len(caplog.records) == 1 and "is being trained: it is run" in caplog.text
    model.fine_tune = False  # frozen again: with other weights
    assert are_same(cache, model, ids)
    assert cache.counts == Counts(computed=8)


def test_what_cannot_be_cached_is_refused(folder):
    cache = LayerCache(folder)
    carried, tuned = models.bilm(state="carried"), models.bilm(fine_tune=True)

    message = r"the biLM has state 'carried': .*cannot be cached\. Use state \"reset\" or \"warm\"\."
    with pytest.raises(OptionsError, match=message):
        cache.run(carried, models.random_ids([2]))
    with pytest.raises(OptionsError, match=message):
        Elmo(carried, cache=cache)
    with pytest.raises(OptionsError, match=r"is to be fine-tuned.*Leave out the cache, or fine_tune\."):
        Elmo(tuned, cache=cache)


# Inside ELMo


@pytest.mark.parametrize(
    "options",
    [{}, {"layer_norm": "batch"}, {"layer_norm": "token"}, {"keep_boundaries": True}, {"layers": "last"}],
    ids=str,
)
def test_mixes(folder, options):
    model, ids = models.bilm(), models.random_ids(LENGTHS)
    plain = Elmo(model, num_mixes=2, **options)
    for _ in range(2):
        cached = Elmo(model, num_mixes=2, cache=LayerCache(folder), **options)
        output, expected = cached(ids), plain(ids)
        assert torch.equal(output.mask, expected.mask)
        for one, other in zip(output.representations, expected.representations):
            assert torch.equal(one, other)
        assert torch.equal(cached.raw_layers(ids).layers, plain.raw_layers(ids).layers)


def test_further_dimensions(folder):
    elmo = Elmo(models.bilm(), cache=LayerCache(folder))

    assert elmo(models.random_ids([3, 2, 1, 3]).view(2, 2, 3, 50)).representations[0].shape == (2, 2, 3, 12)


def test_gradients_reach_the_mix_alone(folder):
    ids = models.random_ids(LENGTHS)
    gradients = []
    for cache in (None, LayerCache(folder), LayerCache(folder)):
        elmo = Elmo(models.bilm(), cache=cache)
        elmo(ids).representations[0].pow(2).sum().backward()
        assert all(parameter.grad is None for parameter in elmo.bilm.parameters())
        gradients.append(torch.cat([elmo.mixes[0].weights.grad, elmo.mixes[0].gamma.grad]))

    assert gradients[0].abs().min() > 0
    assert torch.equal(gradients[0], gradients[1]) and torch.equal(gradients[0], gradients[2])


def test_copies_and_pickles_hold_settings_only(folder):
    ids = models.random_ids(LENGTHS)
    elmo = Elmo(models.bilm(), cache=LayerCache(folder, dtype="float64", max_gigabytes=0.5))
    expected = elmo(ids).representations[0]

    for twin in (copy.deepcopy(elmo), pickle.loads(pickle.dumps(elmo))):
        assert repr(twin.cache) == f"LayerCache({str(folder)!r}, dtype='float64', max_gigabytes=0.5)"
        assert torch.equal(twin(ids).representations[0], expected)
        assert twin.cache.counts == Counts(read=4)
    assert elmo.cache.counts == Counts(computed=4)


def test_it_is_no_part_of_the_state(folder):
    plain, cached = Elmo(models.bilm()), Elmo(models.bilm(), cache=LayerCache(folder))

    assert list(cached.state_dict()) == list(plain.state_dict())
    cached.load_state_dict(plain.state_dict())


def test_inside_inference_mode_and_autocast(folder):
    ids = models.random_ids(LENGTHS)
    model = models.bilm(dtype=torch.float32)
    expected = model.run(ids).layers
    for context in (torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad()):
        with context:
            layers = LayerCache(folder).run(model, ids).layers
        assert all(torch.equal(one, other) for one, other in zip(layers, expected))


@pytest.mark.gpu
def test_on_a_gpu(folder):
    model, ids = models.bilm(dtype=torch.float32).cuda(), models.random_ids(LENGTHS).cuda()

    for _ in range(2):
        cached, computed = both(LayerCache(folder), model, ids)
        assert cached.device == computed.device
        assert_close(cached, computed, LAYERS[torch.float32])
    on_cpu = LayerCache(folder)
    on_cpu.run(model.cpu(), ids.cpu())
    assert on_cpu.counts == Counts(read=4)


# Damage


def test_damaged_bytes_are_never_given_out(folder, caplog):
    """Flip bits all over the layers that are stored, again and again."""
    model, ids = models.bilm(dtype=torch.float32), models.random_ids([40, 35, 50])
    LayerCache(folder).run(model, ids)
    draw = random.Random(3)
    for _ in range(6):
        for path in files(folder):
            content = bytearray(path.read_bytes())
            for _ in range(4):
                content[draw.randrange(3 * 4096, len(content))] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
        cache = LayerCache(folder)
        assert are_close(cache, model, ids)
        assert cache.counts.read + cache.counts.computed == 3
        del cache
    assert "had a damaged sentence: it is computed and written again" in caplog.text


def test_damaged_sentence_is_written_again(folder):
    model, ids = models.bilm(), models.random_ids([40, 35])
    stored = LayerCache(folder).run(model, ids).output(True).layers
    path = files(folder)[0]
    content = path.read_bytes()
    place = content.index(stored[2, 1, 10].numpy().tobytes())
    path.write_bytes(content[:place] + b"12345678" + content[place + 8 :])

    cache = LayerCache(folder)
    assert are_close(cache, model, ids)
    assert cache.counts == Counts(read=1, computed=1, damaged=1)
    assert are_close(cache, model, ids)
    assert cache.counts == Counts(read=3, computed=1, damaged=1)
    del cache
    cache = LayerCache(folder)
    assert are_close(cache, model, ids)
    assert cache.counts == Counts(read=2)


def test_entry_of_another_sentence_is_not_taken(folder):
    """As a damaged tree would give it."""
    model, cache = models.bilm(), LayerCache(folder)
    ids = models.random_ids([4, 4])
    cache.run(model, ids)
    read = layer_store.LayerStore.read

    def crossed(self, fingerprint, keys, take):
        return read(self, fingerprint, keys[::-1], lambda place, value: take(len(keys) - 1 - place, value))

    layer_store.LayerStore.read, kept = crossed, read
    try:
        cached = cache.run(model, ids[[0, 1]]).output(True).layers
    finally:
        layer_store.LayerStore.read = kept
    assert_close(cached, model.run(ids).output(True).layers, LAYERS[torch.float64])


def test_store_that_cannot_be_read_is_an_error(folder):
    model, ids = models.bilm(), models.random_ids(LENGTHS)
    LayerCache(folder).run(model, ids)
    path = files(folder)[0]
    path.write_bytes(b"something else" * 2000)

    with pytest.raises(FormatError, match=f"{path.parent} is not a readable part of a layer cache"):
        LayerCache(folder).run(model, ids)


# Trouble with the folder: say it once, go on


def test_folder_of_something_else_is_an_error(tmp_path):
    (tmp_path / "file").write_text("text")

    with pytest.raises(FormatError, match=f"{tmp_path} is not a layer cache"):
        LayerCache(tmp_path)


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")])
def test_folder_that_cannot_be_made(folder, monkeypatch, caplog, error):
    def refuse(*arguments, **options):
        raise error

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    model, ids = models.bilm(), models.random_ids(LENGTHS)
    cache = LayerCache(folder)
    for _ in range(2):
        assert are_same(cache, model, ids)

    (record,) = caplog.records
    message = record.getMessage()
    assert f"the layer cache {folder} cannot be made or written" in message and error.strerror in message
    assert "all sentences are computed each time" in message


def test_folder_below_a_file(tmp_path, caplog):
    (tmp_path / "file").write_text("text")
    model, ids = models.bilm(), models.random_ids(LENGTHS)

    assert are_same(LayerCache(tmp_path / "file" / "cache"), model, ids)
    assert "Not a directory" in caplog.text


def test_limit_is_kept_and_said_once(folder, caplog):
    model = models.bilm(models.weights(projection=64, cells=64))
    cache = LayerCache(folder, max_gigabytes=0.0012)
    for seed in range(5):
        assert are_same(cache, model, models.random_ids([50, 60, 50], seed=seed))

    assert sum(path.stat().st_size for path in files(folder)) <= 1_200_000
    (record,) = caplog.records
    assert "takes no new sentences: the size limit of 0.00 GB is reached" in record.getMessage()
    assert "A larger max_gigabytes, another folder or a larger disk helps" in record.getMessage()
    cache = LayerCache(folder)
    assert are_same(cache, model, models.random_ids([50, 60, 50], seed=0))
    assert cache.counts == Counts(read=3)


def test_full_disk_is_said_once(folder, caplog, monkeypatch, ran):
    model, ids = models.bilm(), models.random_ids(LENGTHS)
    cache = LayerCache(folder)
    cache.run(model, ids[:2])

    def refuse(self, entries):
        raise OSError("mdb_txn_commit: No space left on device")

    monkeypatch.setattr(Generation, "put", refuse)
    for _ in range(3):
        cache.run(model, ids)

    assert ran == [(1, 3), (3, 5), (3, 5), (3, 5)]
    (record,) = caplog.records
    assert (
        f"the layer cache {folder} cannot be written (mdb_txn_commit: No space left on device)" in record.getMessage()
    )


def test_folder_deleted_under_way(folder, caplog):
    model, ids = models.bilm(), models.random_ids(LENGTHS)
    cache = LayerCache(folder)
    cache.run(model, ids)
    shutil.rmtree(folder)

    for _ in range(2):
        assert are_same(cache, model, ids)
    assert len(caplog.records) == 1 and "cannot be written" in caplog.text


@pytest.mark.parametrize("dtype", ["half", "int8", "", torch.float16], ids=str)
def test_unknown_dtype(folder, dtype):
    with pytest.raises(OptionsError, match=r"dtype of the layer cache is .*; choose one of \['float16', 'float32'"):
        LayerCache(folder, dtype=dtype)


@pytest.mark.parametrize("size", [0, -1, True, "16", float("nan"), float("inf")], ids=str)
def test_size_that_is_none(folder, size):
    with pytest.raises(OptionsError, match="max_gigabytes of the layer cache is .*expected a number above 0"):
        LayerCache(folder, max_gigabytes=size)


def test_without_lmdb(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "lmdb", None)

    with pytest.raises(EngineError, match="the layer cache needs the package lmdb"):
        LayerCache(folder)


# Processes


def run_and_check(folder, order, outcome):
    model, cache = models.bilm(), LayerCache(folder)
    ids = models.random_ids([5, 3, 8, 2, 6, 4, 7, 1])
    for _ in range(3):
        for row in order:
            cached, computed = both(cache, model, ids[row : row + 1])
            assert torch.equal(cached, computed)
    outcome.put(cache.counts)
    os._exit(0)


def test_two_trainings_at_once(folder):
    outcome = fork.SimpleQueue()
    orders = (list(range(8)), list(range(7, -1, -1)))
    processes = [fork.Process(target=run_and_check, args=(folder, order, outcome)) for order in orders]
    for process in processes:
        process.start()
    counts = [outcome.get() for _ in processes]
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0]
    assert all(count.read + count.computed == 24 and count.computed <= 8 for count in counts)
    cache = LayerCache(folder)
    assert are_same(cache, models.bilm(), models.random_ids([5, 3, 8, 2, 6, 4, 7, 1])[:1])
    assert cache.counts == Counts(read=1)


def fill(folder, begun):
    model, cache = models.bilm(), LayerCache(folder)
    for seed in range(100_000):
        cache.run(model, models.random_ids([60, 50], seed=seed))
        begun.set()


def test_killed_training_leaves_a_sound_cache(folder):
    begun = fork.Event()
    process = fork.Process(target=fill, args=(folder, begun))
    process.start()
    assert begun.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.join()

    model, cache = models.bilm(), LayerCache(folder)
    for seed in range(3):
        assert are_same(cache, model, models.random_ids([60, 50], seed=seed))
    assert cache.counts.read >= 2 and cache.counts.damaged == 0


def test_before_and_after_a_fork(folder):
    model, ids, cache = models.bilm(), models.random_ids(LENGTHS), LayerCache(folder)
    cache.run(model, ids[:3])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if are_close(cache, model, ids) and cache.counts == Counts(read=2, computed=4) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0

    assert are_close(cache, model, ids)
    assert cache.counts == Counts(read=4, computed=2)


def test_warnings_are_of_this_package(folder, caplog):
    with caplog.at_level(logging.WARNING):
        LayerCache(folder).run(models.bilm(), models.random_ids(LENGTHS))

    assert caplog.records == []
