import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.corpus import streams
from elmo_plugin.corpus.sentence_batches import sentence_batches
from elmo_plugin.corpus.streams import IGNORED, LazyBlock, schedule, stream_batches, to_tensors
from elmo_plugin.corpus.word_table import WordTable
from elmo_plugin.engine.characters import words_to_ids

VOCABULARY = {word: index for index, word in enumerate(["<S>", "</S>", "<UNK>", "a", "b", "c"])}
SENTENCES = st.lists(st.lists(st.text("abcdé", min_size=1, max_size=3), min_size=1, max_size=9), max_size=25)
SIZES = {"rows": st.integers(1, 5), "steps": st.integers(1, 7)}


def batches_of(sentences, rows, steps):
    table = WordTable(VOCABULARY)
    return table, list(stream_batches(LazyBlock(sentences, table).sentences(), rows, steps))


def read_rows(batches, name):
    """The tokens of each row over all batches, empty places dropped."""
    inputs = [np.concatenate(row) for row in zip(*(getattr(batch, f"{name}_inputs") for batch in batches))]
    targets = [np.concatenate(row) for row in zip(*(getattr(batch, f"{name}_targets") for batch in batches))]
    return [(i[t >= 0].tolist(), t[t >= 0].tolist()) for i, t in zip(inputs, targets)]


def split_at(row, first, last):
    """Cut a row of (inputs, targets) into sentences, and check where they begin and end."""
    sentences, start = [], 0
    inputs, targets = row
    for end, target in enumerate(targets, 1):
        if target == last:
            assert inputs[start] == first
            assert inputs[start + 1 : end] == targets[start : end - 1]
            sentences.append(targets[start : end - 1])
            start = end
    assert start == len(targets)
    return sentences


@given(sentences=SENTENCES, **SIZES)
def test_every_token_is_a_target_once_in_both_directions(sentences, rows, steps):
    table, batches = batches_of(sentences, rows, steps)
    words = list(table._rows)
    forward, backward = [], []
    for row in read_rows(batches, "forward"):
        forward += split_at(row, table.BEGIN_ROW, table.END_ROW)
    for row in read_rows(batches, "backward"):
        backward += split_at(row, table.END_ROW, table.BEGIN_ROW)

    expected = sorted(sentences)
    assert sorted([words[i] for i in sentence] for sentence in forward) == expected
    assert sorted([words[i] for i in reversed(sentence)] for sentence in backward) == expected


@given(sentences=SENTENCES, steps=st.integers(1, 7))
def test_one_row_keeps_the_order_of_the_text(sentences, steps):
    table, batches = batches_of(sentences, 1, steps)
    words = list(table._rows)
    found = [words[i] for row in read_rows(batches, "forward") for i in row[1]]

    assert found == [word for sentence in sentences for word in sentence + ["</S>"]]


@given(sentences=SENTENCES, **SIZES)
def test_all_batches_are_full_until_the_text_ends(sentences, rows, steps):
    _, batches = batches_of(sentences, rows, steps)
    full = [bool((batch.forward_targets >= 0).all()) and batch.forward_targets.shape[1] == steps for batch in batches]

    assert full == sorted(full, reverse=True)
    for batch in batches:
        np.testing.assert_array_equal(batch.forward_targets >= 0, batch.backward_targets >= 0)


@given(lengths=st.lists(st.integers(1, 20), max_size=30), **SIZES)
def test_schedule_places_each_token_once(lengths, rows, steps):
    places = set()
    tokens = []
    for number, batch in enumerate(schedule(lengths, rows, steps)):
        for row, column, count, sentence, offset in batch:
            assert 0 <= row < rows and column + count <= steps
            places |= {(number, row, column + i) for i in range(count)}
            tokens += [(sentence, offset + i) for i in range(count)]

    assert len(places) == len(tokens)
    assert sorted(tokens) == [(i, j) for i, length in enumerate(lengths) for j in range(length)]


def test_bilm_tfs_example():
    """bilm-tf's layout by hand: two sentences, one row, cut every three tokens."""
    table, batches = batches_of([["a", "b"], ["c"]], 1, 3)
    first, second = (to_tensors(batch, table) for batch in batches)

    assert first["forward_targets"].tolist() == [[3, 4, 1]]  # a b </S>
    assert first["backward_targets"].tolist() == [[4, 3, 0]]  # b a <S>
    assert second["forward_targets"].tolist() == [[5, 1]]
    assert second["backward_targets"].tolist() == [[5, 0]]
    ids = first["words"][first["forward_inputs"]]
    assert torch.equal(ids[0], torch.from_numpy(words_to_ids(["<S>", "a", "b"])))
    ids = first["words"][first["backward_inputs"]]
    assert torch.equal(ids[0], torch.from_numpy(words_to_ids(["</S>", "b", "a"])))


def test_tensors_hold_each_word_once_and_ignore_empty_places():
    table, batches = batches_of([["a", "x", "x"], ["a"]], 2, 4)
    tensors = to_tensors(batches[0], table)

    assert len(batches) == 1
    assert len(torch.unique(tensors["words"], dim=0)) == len(tensors["words"]) == 4  # <S> </S> a x
    assert tensors["forward_targets"].tolist() == [[3, 2, 2, 1], [3, 1, IGNORED, IGNORED]]  # x is unknown


@given(sentences=SENTENCES, **SIZES)
def test_each_place_knows_its_sentence(sentences, rows, steps):
    table, batches = batches_of(sentences, rows, steps)
    words = list(table._rows)
    found = {number: [] for number in range(len(sentences))}
    for batch in batches:
        np.testing.assert_array_equal(batch.sentences >= 0, batch.forward_targets >= 0)
        for number, target in zip(batch.sentences[batch.sentences >= 0], batch.forward_targets[batch.sentences >= 0]):
            found[int(number)].append(words[target])

    assert found == {number: sentence + ["</S>"] for number, sentence in enumerate(sentences)}


@given(sentences=SENTENCES, **SIZES, skipped=st.sets(st.integers(0, 9)))
def test_batches_that_are_skipped_change_no_other(sentences, rows, steps, skipped):
    """Nor does what the table knows."""
    table, expected = batches_of(sentences, rows, steps)
    other = WordTable(VOCABULARY)
    numbers = iter(range(1000))
    found = list(stream_batches(LazyBlock(sentences, other).sentences(), rows, steps, lambda: next(numbers) in skipped))

    assert [batch is None for batch in found] == [number in skipped for number in range(len(expected))]
    for one, two in zip(found, expected):
        if one is not None:
            one, two = to_tensors(one, other), to_tensors(two, table)
            assert all(one[name].equal(two[name]) for name in two)


def test_word_level_inputs_are_targets_plus_one():
    table = WordTable(VOCABULARY, max_characters=None)
    (batch,) = stream_batches(LazyBlock([["b", "x"]], table).sentences(), 1, 5)
    tensors = to_tensors(batch, table)

    assert tensors["words"][tensors["forward_inputs"]].tolist() == [[1, 5, 3]]  # <S> b <UNK>


def test_two_unknown_words_are_one_word_level_target():
    table = WordTable(VOCABULARY, max_characters=None)
    assert table.targets(table.rows(["x", "y", "c"])).tolist() == [2, 2, 5]


def test_table_grows():
    table = WordTable(VOCABULARY)
    words = [f"w{i}" for i in range(5000)]
    for start in range(0, 5000, 700):
        table.rows(words[start : start + 700])
    rows = table.rows(words)

    assert len(table) == 5002
    np.testing.assert_array_equal(table.inputs(rows), words_to_ids(words))


def test_vocabulary_without_specials_is_refused():
    with pytest.raises(ValueError, match="<UNK> missing among 2 words"):
        WordTable({"<S>": 0, "</S>": 1})


@given(sentences=SENTENCES, **SIZES, block=st.integers(1, 4), max_words=st.integers(2, 6))
def test_a_table_that_forgets_changes_no_batch(sentences, rows, steps, block, max_words):
    blocks = [sentences[start : start + block] for start in range(0, len(sentences), block)]
    found = {}
    for limit in (max_words, 1000):
        table = WordTable(VOCABULARY, max_words=limit)
        text = [sentence for block in blocks for sentence in LazyBlock(block, table).sentences()]
        found[limit] = [to_tensors(batch, table) for batch in stream_batches(text, rows, steps)]

    assert len(found[1000]) == len(found[max_words])
    for one, two in zip(found[1000], found[max_words]):
        assert all(one[name].equal(two[name]) for name in one)


@pytest.mark.parametrize("is_continuous", [True, False])
def test_a_table_does_not_grow_with_the_text(is_continuous):
    """The words of a text as large as one likes are not all in memory."""
    table = WordTable(VOCABULARY, max_words=50)
    blocks = [LazyBlock([[f"w{i}"] * 3, [f"x{i}"]], table) for i in range(200)]
    if is_continuous:
        batches = stream_batches((sentence for block in blocks for sentence in block.sentences()), 2, 4)
    else:
        batches = sentence_batches((list(block.sentences()) for block in blocks), 2)
    sizes = [len(table) for batch in batches if to_tensors(batch, table)]

    assert len(sizes) >= 150 and 50 < max(sizes) < 60


@pytest.mark.parametrize("is_continuous", [True, False])
def test_a_block_of_more_words_than_the_table_keeps_is_not_encoded_for_each_batch(is_continuous, monkeypatch):
    encoded = []
    encode = streams.encode_block
    monkeypatch.setattr(streams, "encode_block", lambda block, table: encoded.append(0) or encode(block, table))
    table = WordTable(VOCABULARY, max_words=50)
    blocks = [LazyBlock([[f"b{i}w{j}"] for j in range(100)], table) for i in range(20)]
    if is_continuous:
        batches = list(stream_batches((sentence for block in blocks for sentence in block.sentences()), 2, 4))
    else:
        batches = list(sentence_batches((list(block.sentences()) for block in blocks), 2))

    assert len(batches) >= 500 and len(encoded) < 60
    assert len(table) < 500
