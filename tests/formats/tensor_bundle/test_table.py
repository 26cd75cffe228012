import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.formats.tensor_bundle.table import read_table
from tests.formats import bundles

pairs = st.dictionaries(st.text("ab/", max_size=6).map(str.encode), st.binary(max_size=20), max_size=12)


@given(pairs, st.integers(1, 5), st.booleans())
def test_any_table_comes_back(content, entries_per_block, compressed):
    assert read_table(bundles.table(content, entries_per_block, compressed)) == content


def test_damage_anywhere_is_found():
    """Every byte that says something is under a checksum, or is checked itself."""
    content = {b"lm/a": b"1", b"lm/ab": b"22", b"lm/b": b"333", b"z": b""}
    whole = bundles.table(content, entries_per_block=2)
    generator, harmless = random.Random(0), 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= generator.randrange(1, 256)
        try:
            assert read_table(bytes(damaged)) == content
            harmless += 1
        except ValueError:
            pass
    assert harmless <= 40 + 13  # in the unused parts of the end, and in the empty block for filters
    for length in range(len(whole)):
        with pytest.raises(ValueError, match="the end of the table is missing"):
            read_table(whole[:length])


@pytest.mark.parametrize(
    "block,message",
    [
        (b"abc", "a block is cut off"),
        (b"\xff\xff\xff\xff", "more restarts than room"),
        (b"\x01\x01\x00a" + bytes(4), "an entry of a block is cut off"),
        (b"\x00\x09\x00a" + bytes(4), "an entry of a block is cut off"),
        (b"\x80" + bytes(4), "a number is cut off|an entry of a block is cut off"),
    ],
    ids=range(5),
)
def test_a_block_with_the_right_checksum_and_wrong_content(block, message, monkeypatch):
    monkeypatch.setattr(bundles, "_block", lambda pairs: block)
    with pytest.raises(ValueError, match=message):
        read_table(bundles.table({}))


def test_the_same_key_twice():
    both = [(b"a", b"1"), (b"a", b"2")]
    where, content = bundles._append(b"", bundles._block(both), False)
    index, content = bundles._append(content, bundles._block([(b"a", where)]), False)
    with pytest.raises(ValueError, match="the key b'a' is there twice"):
        read_table(content + (where + index).ljust(40, b"\0") + b"\x57\xfb\x80\x8b\x24\x75\x47\xdb")
