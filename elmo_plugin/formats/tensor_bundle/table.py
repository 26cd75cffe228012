"""
LevelDB's sorted table, as TensorFlow writes it into `x.index`: blocks of keys and values, and a block that finds them.

A key is stored as what it does not share with the key before. Each block has a checksum behind it. The last 48 bytes
say where the block is that lists the others.
"""

import struct
from typing import Dict, Iterator, Tuple

import numpy as np

from elmo_plugin.formats.tensor_bundle.crc32c import masked_crc32c
from elmo_plugin.formats.tensor_bundle.messages import read_varint
from elmo_plugin.formats.tensor_bundle.snappy import decompress

#: the last bytes of every table
MAGIC = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"

_FOOTER_SIZE = 48
_TRAILER_SIZE = 5  # kind of compression, checksum
_PLAIN, _SNAPPY = 0, 1


def read_table(content: bytes) -> Dict[bytes, bytes]:
    """
    Read a whole table.

    # Parameters

    content : the bytes of the file.

    # Returns

    Key to value, in the order of the keys.

    # Raises

    `ValueError` where this is no table, or a damaged one.
    """
    if len(content) < _FOOTER_SIZE or not content.endswith(MAGIC):
        raise ValueError("the end of the table is missing")
    _, _, place = _handle(content, len(content) - _FOOTER_SIZE)  # a block for filters, which TensorFlow leaves empty
    offset, size, _ = _handle(content, place)
    found: Dict[bytes, bytes] = {}
    for _, handle in _entries(_block(content, offset, size)):
        offset, size, _ = _handle(handle, 0)
        for key, value in _entries(_block(content, offset, size)):
            if key in found:
                raise ValueError(f"the key {key!r} is there twice")
            found[key] = value
    return found


def _handle(data: bytes, place: int) -> Tuple[int, int, int]:
    """Where a block is: its offset, its size, and the place behind the two."""
    offset, place = read_varint(data, place)
    size, place = read_varint(data, place)
    return offset, size, place


def _block(content: bytes, offset: int, size: int) -> bytes:
    end = offset + size
    if end + _TRAILER_SIZE > len(content):
        raise ValueError("a block lies behind the end of the table")
    stored = struct.unpack("<I", content[end + 1 : end + _TRAILER_SIZE])[0]
    if masked_crc32c(np.frombuffer(content, np.uint8, size + 1, offset)) != stored:
        raise ValueError("the checksum of a block is wrong")
    kind, block = content[end], content[offset:end]
    if kind not in (_PLAIN, _SNAPPY):
        raise ValueError(f"a block has the unknown compression {kind}")
    return decompress(block) if kind == _SNAPPY else block


def _entries(block: bytes) -> Iterator[Tuple[bytes, bytes]]:
    # behind the entries are the places where keys are stored whole, and how many of these there are
    if len(block) < 4:
        raise ValueError("a block is cut off")
    end = len(block) - 4 * (1 + struct.unpack("<I", block[-4:])[0])
    if end < 0:
        raise ValueError("a block has more restarts than room")
    place, key = 0, b""
    while place < end:
        shared, place = read_varint(block, place)
        own, place = read_varint(block, place)
        length, place = read_varint(block, place)
        if shared > len(key) or place + own + length > end:
            raise ValueError("an entry of a block is cut off")
        key = key[:shared] + block[place : place + own]
        yield key, block[place + own : place + own + length]
        place += own + length
