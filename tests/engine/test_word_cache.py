"""What is kept, what is forgotten, and that a cached vector is the computed one."""

import copy
import pickle
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import batch_to_ids, words_to_ids
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.streams import StreamOrder
from elmo_plugin.engine.warm import warm_up
from elmo_plugin.engine.word_cache import _BYTES_PER_KEY, WordCache
from tests.engine import models
from tests.engine.tolerance import LAYERS, assert_close

TOLERANCE = LAYERS[torch.float64]
WEIGHTS = torch.ones(3)


class Encoder:
    """Ids summed up; notes which words it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, ids):
        self.asked.append(len(ids))
        return torch.stack([ids.sum(dim=1).double(), ids[:, 1].double()], dim=1)


@pytest.fixture
def encoder():
    return Encoder()


def ids_of(*words):
    return torch.from_numpy(words_to_ids(words, 8))


def size(cache):
    """Words that are kept."""
    held = cache._words._held
    return 0 if held is None else len(held.value._slots)


def of_words(number):
    """A cache for so many words of two float64 numbers."""
    return WordCache(number * (16 + _BYTES_PER_KEY) / 1e6)


def test_a_word_is_computed_once(encoder):
    cache = WordCache()
    first = cache.vectors(ids_of("a", "b"), encoder, [WEIGHTS])
    again = cache.vectors(ids_of("b", "c", "a"), encoder, [WEIGHTS])
    all_known = cache.vectors(ids_of("c", "a"), encoder, [WEIGHTS])

    assert encoder.asked == [2, 1]
    assert torch.equal(first, Encoder()(ids_of("a", "b")))
    assert torch.equal(again, Encoder()(ids_of("b", "c", "a")))
    assert torch.equal(all_known, Encoder()(ids_of("c", "a")))
    assert size(cache) == 3


def test_callers_cannot_change_what_is_kept(encoder):
    cache = WordCache()
    for words in (("a", "b"), ("a", "b"), ("a", "c")):
        cache.vectors(ids_of(*words), encoder, [WEIGHTS]).fill_(99)

    assert torch.equal(cache.vectors(ids_of("a", "b"), encoder, [WEIGHTS]), Encoder()(ids_of("a", "b")))


def test_the_word_that_was_not_used_for_longest_makes_room(encoder):
    cache = of_words(2)
    for word in ("a", "b", "a", "c", "a", "b"):  # c takes the place of b, b that of c
        cache.vectors(ids_of(word), encoder, [WEIGHTS])

    assert len(encoder.asked) == 4
    assert size(cache) == 2


class FullMemory:
    """A table that nothing can be written to."""

    def __len__(self):
        return 4

    def __setitem__(self, slots, vectors):
        raise MemoryError


def test_a_word_whose_vector_could_not_be_written_is_forgotten(encoder):
    cache = WordCache()
    cache.vectors(ids_of("a"), encoder, [WEIGHTS])
    words = cache._words._held.value
    table, words._table = words._table, FullMemory()
    with pytest.raises(MemoryError):
        cache.vectors(ids_of("b"), encoder, [WEIGHTS])
    words._table = table

    assert torch.equal(cache.vectors(ids_of("a", "b"), encoder, [WEIGHTS]), Encoder()(ids_of("a", "b")))


@settings(deadline=None)
@given(st.integers(1, 5), st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=8), max_size=8))
def test_any_text_in_any_room(capacity, batches):
    cache = of_words(capacity)
    for words in batches:
        ids = ids_of(*sorted(words))
        assert torch.equal(cache.vectors(ids, Encoder(), [WEIGHTS]), Encoder()(ids))
        assert size(cache) <= capacity


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: [weights[0] + 1],
        lambda weights: [weights[0].clone()],
        lambda weights: [weights[0].add_(1)],
        lambda weights: [weights[0].data.fill_(7)] and weights,
        lambda weights: [weights[0].double()],
    ],
    ids=["other values", "moved", "written", "written through .data", "other dtype"],
)
def test_changed_weights_are_noticed(encoder, change):
    cache, weights = WordCache(), [torch.ones(3)]
    cache.vectors(ids_of("a"), encoder, weights)
    cache.vectors(ids_of("a"), encoder, change(weights))

    assert encoder.asked == [1, 1]


def test_ids_that_differ_in_their_third_byte_alone(encoder):
    cache, ids = WordCache(), torch.tensor([[259, 7], [259, 7 + 2**16]])
    for _ in range(2):
        assert torch.equal(cache.vectors(ids, encoder, [WEIGHTS]), Encoder()(ids))
    assert torch.equal(cache.vectors(ids[:1], encoder, [WEIGHTS]), Encoder()(ids[:1]))


def test_no_words(encoder):
    cache = WordCache()

    assert cache.vectors(ids_of(), encoder, [WEIGHTS]).shape == (0, 2)
    assert size(cache) == 0


def test_nothing_is_kept_of_a_failure(encoder):
    cache = WordCache()

    def fail(ids):
        raise MemoryError

    with pytest.raises(MemoryError):
        cache.vectors(ids_of("a"), fail, [WEIGHTS])
    assert size(cache) == 0
    assert torch.equal(cache.vectors(ids_of("a"), encoder, [WEIGHTS]), encoder(ids_of("a")))


def test_inference_mode_and_plain_calls_share_it(encoder):
    cache = WordCache()
    with torch.inference_mode():
        cache.vectors(ids_of("a"), encoder, [WEIGHTS])
    cache.vectors(ids_of("a", "b"), encoder, [WEIGHTS])
    with torch.inference_mode():
        cache.vectors(ids_of("c"), encoder, [WEIGHTS])

    assert encoder.asked == [1, 1, 1]


def test_a_second_thread_goes_without(encoder):
    cache = WordCache()
    results = []

    def encode_beside(ids):
        other = threading.Thread(target=lambda: results.append(cache.vectors(ids_of("z"), Encoder(), [WEIGHTS])))
        other.start()
        other.join()
        return encoder(ids)

    cache.vectors(ids_of("a"), encode_beside, [WEIGHTS])

    assert torch.equal(results[0], Encoder()(ids_of("z")))
    assert size(cache) == 1


def test_calls_on_several_streams_take_turns_on_the_gpu(encoder, monkeypatch):
    """What one call writes into the table another one, on its own stream, reads."""
    devices = []
    real = StreamOrder.turn

    def turn(self, device):
        devices.append(device)
        return real(self, device)

    monkeypatch.setattr(StreamOrder, "turn", turn)
    cache = WordCache()
    for _ in range(2):
        cache.vectors(ids_of("a"), encoder, [WEIGHTS])

    assert devices == [torch.device("cpu")] * 2


@pytest.mark.parametrize("megabytes", [0, -1, "64", True, float("nan"), float("inf")], ids=str)
def test_a_size_is_above_zero(megabytes):
    with pytest.raises(OptionsError, match="size of the word cache is .*, expected megabytes above 0"):
        WordCache(megabytes)


# In the biLM.

SENTENCES = [["a", "cat", "sat"], ["the", "cat", "and", "a", "x" * 60], []]
IDS = batch_to_ids(SENTENCES)


def encodings(bilm):
    """Count the words that the character CNN gets."""
    seen = []
    encode = bilm.token_encoder.encode
    bilm.token_encoder.encode = lambda ids, backend=None: seen.append(len(ids)) or encode(ids, backend)
    return seen


def test_a_frozen_bilm_computes_a_word_once():
    bilm = models.bilm(word_cache=1)
    seen = encodings(bilm)
    expected = models.bilm()(IDS).layers
    first = bilm(IDS).layers
    again = bilm(IDS).layers
    other_batch = bilm(IDS[:1]).layers

    assert seen == [8]
    assert torch.equal(first, expected), "nothing was known: the same numbers as without a cache"
    assert torch.equal(again, first)
    assert_close(other_batch[:, :, :5], expected[:, :1, :5], TOLERANCE)


def test_other_weights_other_vectors():
    bilm, source = models.bilm(word_cache=1), models.weights(seed=1)
    bilm(IDS)
    changed = models.bilm(source)
    bilm.load_tensors(changed.state_dict(), source="tests")

    assert torch.equal(bilm(IDS).layers, changed(IDS).layers)
    assert bilm.float()(IDS).layers.dtype == torch.float32


def test_fine_tuning_goes_without_and_gets_its_gradients():
    bilm = models.bilm(fine_tune=True, word_cache=1)
    seen = encodings(bilm)
    for _ in range(2):
        bilm(IDS).layers.sum().backward()
    with torch.no_grad():
        bilm(IDS)

    assert seen == [8, 8, 8] and size(bilm.word_cache) == 0
    assert bilm.token_encoder.char_embedding.grad.abs().sum() > 0


def test_it_is_no_part_of_what_is_saved():
    bilm = models.bilm(word_cache=1)
    expected = bilm(IDS).layers

    assert not [name for name in bilm.state_dict() if "cache" in name]
    for other in (pickle.loads(pickle.dumps(bilm)), copy.deepcopy(bilm)):
        assert size(other.word_cache) == 0 and other.word_cache.megabytes == bilm.word_cache.megabytes
        assert torch.equal(other(IDS).layers, expected)


def test_a_word_level_bilm_has_its_table_already():
    bilm = models.bilm(models.weights(words=9), word_cache=1)
    bilm(models.random_word_ids([3, 2], 9))

    assert size(bilm.word_cache) == 0


def test_the_warm_state_is_computed_without():
    """So that what follows does not depend on whether it was computed or loaded."""
    bilm = models.bilm(state="warm", word_cache=1)
    warm_up(bilm)

    assert size(bilm.word_cache) == 0


def test_no_cache():
    assert models.bilm().word_cache is None
    with pytest.raises(OptionsError, match="expected megabytes above 0"):
        BiLm(models.bilm().options, word_cache=-1)
