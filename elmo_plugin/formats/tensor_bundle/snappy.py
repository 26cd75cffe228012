"""Snappy, as far as it takes to read: TensorFlow 1.0 compressed the tables of its checkpoints with it."""

from elmo_plugin.formats.tensor_bundle.messages import read_varint

# The blocks of a checkpoint's table have some kilobytes.
MAX_SIZE = 1 << 26


def decompress(data: bytes) -> bytes:
    """
    Decompress one block.

    # Parameters

    data : the block, its length in front.

    # Raises

    `ValueError` where this is no Snappy block, or one of more than `MAX_SIZE` bytes.
    """
    size, place = read_varint(data, 0)
    if size > MAX_SIZE:
        raise ValueError(f"a compressed block says that it has {size} bytes")
    result = bytearray()
    while place < len(data):
        tag, place = data[place], place + 1
        kind, rest = tag & 3, tag >> 2
        if kind == 0:
            place = _literal(data, place, rest, result)
        else:
            length, width = (4 + (rest & 7), 1) if kind == 1 else (1 + rest, 2 * kind - 2)
            back = _number(data, place, width) + ((tag >> 5 << 8) if kind == 1 else 0)
            place += width
            _copy(result, back, length)
        if len(result) > size:
            break
    if len(result) != size:
        raise ValueError(f"a compressed block has not the {size} bytes that it says")
    return bytes(result)


def _literal(data: bytes, place: int, length: int, result: bytearray) -> int:
    """Append bytes as they are, and return the place behind them."""
    if length >= 60:
        width = length - 59
        length = _number(data, place, width)
        place += width
    end = place + length + 1
    if end > len(data):
        raise ValueError("a compressed block is cut off")
    result += data[place:end]
    return end


def _copy(result: bytearray, back: int, length: int) -> None:
    """Append bytes that came before; they may reach into those that are being appended."""
    if not 0 < back <= len(result):
        raise ValueError("a compressed block points in front of its beginning")
    result += (result[-back:] * (length // back + 1))[:length]


def _number(data: bytes, place: int, width: int) -> int:
    if place + width > len(data):
        raise ValueError("a compressed block is cut off")
    return int.from_bytes(data[place : place + width], "little")
