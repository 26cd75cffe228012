import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.engine.backends.cuda.schedule import LONGEST_PIECE, blocks, pieces, row_bucket, span
from elmo_plugin.engine.packing import Packing

lengths_of_a_batch = st.lists(st.integers(0, 40), max_size=8)


def packed(lengths):
    return Packing(lengths, torch.device("cpu"))


def test_span_forward_and_back():
    packing = packed([3, 1, 2])  # blocks of 3, 2, 1 tokens

    forward, backward = span(packing, False, 0, 2), span(packing, True, 0, 2)

    assert (forward.place, forward.offsets, forward.sizes) == (slice(0, 5), (0, 3), (3, 2))
    assert (backward.place, backward.offsets, backward.sizes) == (slice(3, 6), (2, 0), (1, 2))
    assert backward.tokens == 3
    assert backward.table().tolist() == [[2, 1], [0, 2]]
    assert backward.piece(1, 1) == type(backward)(slice(3, 6), (0,), (2,))


@given(lengths=lengths_of_a_batch, reverse=st.booleans(), cuts=st.lists(st.integers(0, 40), max_size=3))
def test_spans_side_by_side_are_all_steps_in_order(lengths, reverse, cuts):
    packing = packed(lengths)
    edges = sorted({0, packing.steps, *(cut for cut in cuts if cut < packing.steps)})

    found = []
    for first, last in zip(edges, edges[1:]):
        part = span(packing, reverse, first, last)
        assert part.tokens == sum(part.sizes)
        found += [(part.place.start + offset, size) for offset, size in zip(part.offsets, part.sizes)]

    expected = list(zip(packing.offsets, packing.sizes))
    assert found == (expected[::-1] if reverse else expected)


@given(
    lengths=lengths_of_a_batch,
    reverses=st.lists(st.booleans(), min_size=1, max_size=3),
    tokens=st.integers(1, 50),
)
def test_blocks_hold_few_tokens_and_all_steps(lengths, reverses, tokens):
    packing = packed(lengths)

    found = list(blocks(packing, reverses, tokens))

    assert [number for first, last in found for number in range(first, last)] == list(range(packing.steps))
    for first, last in found:
        most = max(span(packing, reverse, first, last).tokens for reverse in reverses)
        assert most <= tokens or last - first == 1


@given(steps=st.integers(0, 3000))
def test_pieces_are_powers_of_two(steps):
    found = pieces(steps)

    assert sum(found) == steps
    assert found == sorted(found, reverse=True)
    assert all(count & (count - 1) == 0 and 1 <= count <= LONGEST_PIECE for count in found)
    assert len([count for count in found if count < LONGEST_PIECE]) == len({*found} - {LONGEST_PIECE})


@pytest.mark.parametrize(
    "rows,bucket", [(1, 1), (2, 2), (3, 4), (9, 16), (16, 16), (17, 32), (33, 48), (128, 128), (129, 192), (512, 512)]
)
def test_row_buckets(rows, bucket):
    assert row_bucket(rows) == bucket


def test_row_buckets_hold_their_rows_and_are_few():
    assert all(row_bucket(rows) >= rows for rows in range(1, 1000))
    assert len({row_bucket(rows) for rows in range(1, 513)}) < 20
