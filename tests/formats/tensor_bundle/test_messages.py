import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.formats.tensor_bundle.messages import fields, read_varint
from tests.formats import bundles


@given(st.integers(0, 2**64 - 1), st.binary(max_size=5))
def test_numbers(number, rest):
    encoded = bundles.varint(number)

    assert read_varint(b"x" + encoded + rest, 1) == (number, 1 + len(encoded))


def test_every_kind_of_field():
    message = (
        bundles.number_field(1, 300) + bundles.bytes_field(2, b"abc") + b"\x35\x01\x00\x00\x80\x39" + bytes(7) + b"\1"
    )

    assert list(fields(message)) == [(1, 300), (2, b"abc"), (6, 0x80000001), (7, 1 << 56)]


@pytest.mark.parametrize(
    "message,error",
    [
        (b"\x80", "a number is cut off"),
        (b"\xff" * 9 + b"\x02", "cut off or too large"),
        (b"\x0a\x05abc", "a message is cut off"),
        (b"\x35\x01", "a message is cut off"),
        (b"\x0b", "a field of kind 3"),
    ],
    ids=range(5),
)
def test_damage_is_refused(message, error):
    with pytest.raises(ValueError, match=error):
        list(fields(message))
