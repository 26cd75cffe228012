import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.formats.tensor_bundle.snappy import MAX_SIZE, decompress
from tests.formats import bundles

# Made by Google's library, with literals and copies of one and two bytes of offset
TEXT = (
    b"lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell/bias lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell/kernel "
    + b"ab" * 40
    + bytes(range(70))
)
COMPRESSED = bytes.fromhex(
    "fc016c6c6d2f524e4e5f302f726e6e2f6d756c74695f726e6e5f63656c6c2f0105185f302f6c73746d0911106269617320b23200206b65726e"
    "656c206162fe0200360200f045" + bytes(range(70)).hex()
)


def test_a_block_of_the_original_library():
    assert decompress(COMPRESSED) == TEXT


@settings(max_examples=40)
@given(st.lists(st.sampled_from([b"a", b"bc", b"abcd", b"abcdefgh"]), max_size=60).map(b"".join))
def test_any_block(data):
    assert decompress(bundles.snappy(data)) == data


def test_long_literals_and_far_copies():
    data = bytes(range(256)) * 300
    literal = bytes([62 << 2]) + (70000 - 1).to_bytes(3, "little")
    copy = bytes([63 << 2 | 3]) + (66000).to_bytes(4, "little")
    assert decompress(bundles.varint(70064) + literal + data[:70000] + copy) == data[:70000] + data[4000:4064]


@pytest.mark.parametrize(
    "block,message",
    [
        (b"", "cut off or too large"),
        (b"\x05\x10hell", "cut off"),
        (b"\x05\xf0", "cut off"),
        (b"\x05\x06\x01", "cut off"),
        (b"\x04\x01\x00", "in front of its beginning"),
        (b"\x06\x10hello", "not the 6 bytes"),
        (b"\x01\x10hello", "not the 1 bytes"),
        (bundles.varint(MAX_SIZE + 1), f"says that it has {MAX_SIZE + 1} bytes"),
    ],
    ids=range(8),
)
def test_damage_is_refused(block, message):
    with pytest.raises(ValueError, match=message):
        decompress(block)


@given(st.binary(max_size=60))
def test_noise_never_gives_another_error(noise):
    try:
        decompress(noise)
    except ValueError:
        pass
