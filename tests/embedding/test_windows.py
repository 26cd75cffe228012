from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.embedding.text import TextLine
from elmo_plugin.embedding.windows import BatchPlan, Limits, rounds, windows

LENGTHS = st.lists(st.integers(0, 60), max_size=60)


def lines(lengths):
    return [TextLine(number, "x" * length, ["x"] * length) for number, length in enumerate(lengths)]


@given(LENGTHS, st.integers(1, 10), st.integers(1, 100), st.integers(1, 200))
def test_windows(lengths, most_lines, most_tokens, most_bytes):
    found = list(windows(lines(lengths), Limits(most_lines, most_tokens, most_bytes)))

    assert [line for window in found for line in window] == lines(lengths)
    for window in found:
        before_last = sum(len(line.tokens) for line in window[:-1])
        assert len(window) <= most_lines and before_last < most_tokens and before_last < max(1, most_bytes)


@given(LENGTHS, st.integers(1, 100), st.none() | st.integers(1, 8))
def test_batches(lengths, tokens, rows):
    batches = BatchPlan(tokens, rows).batches(lengths)

    assert sorted(place for batch in batches for place in batch) == [i for i, length in enumerate(lengths) if length]
    for batch in batches:
        sizes = [lengths[place] for place in batch]
        assert sizes == sorted(sizes)
        assert len(sizes) == 1 or (sum(sizes) <= tokens and len(sizes) <= (rows or len(sizes)))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 9))
def test_rounds(first, count, rows):
    found = list(rounds(first, count, rows))

    assert [place for start, stop in found for place in range(start, stop)] == list(range(count))
    assert all((first + start) // rows == (first + stop - 1) // rows for start, stop in found)
    assert len(found) == len({(first + place) // rows for place in range(count)})
