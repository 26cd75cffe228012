"""Protocol buffers on the wire: numbered fields of numbers and bytes, without any schema."""

from typing import Iterator, Tuple, Union

Value = Union[int, bytes]

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def fields(data: bytes) -> Iterator[Tuple[int, Value]]:
    """
    Read a message.

    # Parameters

    data : the bytes of one message.

    # Returns

    Number and value of each field in its order: an `int` that is not negative, or `bytes`.

    # Raises

    `ValueError` where this is no message.
    """
    place = 0
    while place < len(data):
        tag, place = read_varint(data, place)
        kind, value = tag & 7, b""
        if kind == _VARINT:
            number, place = read_varint(data, place)
            yield tag >> 3, number
            continue
        if kind == _BYTES:
            length, place = read_varint(data, place)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"a message has a field of kind {kind}")
        value = data[place : place + length]
        if len(value) != length:
            raise ValueError("a message is cut off")
        place += length
        yield tag >> 3, value if kind == _BYTES else int.from_bytes(value, "little")


def read_varint(data: bytes, place: int) -> Tuple[int, int]:
    """
    Read a number of variable length, at most 64 bits.

    # Returns

    The number, and the place behind it.

    # Raises

    `ValueError` where there is none.
    """
    number = 0
    for index, byte in enumerate(data[place : place + 10]):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if number >> 64:
                break
            return number, place + index + 1
    raise ValueError("a number is cut off or too large")
