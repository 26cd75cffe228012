"""
CRC-32C (Castagnoli), the checksum of TensorFlow's files, at hundreds of megabytes per second with numpy alone.

Without its initial value a CRC is linear over GF(2), and `n` zero bytes behind the data are a fixed 32 x 32 matrix.
So the data are taken in rows of many four-byte words, all words of a row at once: the sum so far is moved over the
length of a row, and the row is added. In the end the words of that one row are joined in pairs.
"""

from functools import lru_cache
from typing import List

import numpy as np

_POLYNOMIAL = 0x82F63B78
_ALL_ONES = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8

_WORDS_PER_ROW = 4096
_BYTES_PER_ROW = 4 * _WORDS_PER_ROW


def masked_crc32c(data: np.ndarray) -> int:
    """
    Compute the checksum in the disguise in which it is stored beside the data that it belongs to.

    # Parameters

    data : `(bytes,)`, uint8, contiguous.
    """
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL_ONES


def crc32c(data: np.ndarray) -> int:
    """
    Compute the checksum.

    # Parameters

    data : `(bytes,)`, uint8, contiguous.
    """
    rows = len(data) // _BYTES_PER_ROW
    state = _ALL_ONES
    if rows:
        state = _of_rows(data[: rows * _BYTES_PER_ROW].view("<u4").reshape(rows, _WORDS_PER_ROW))
    table = _byte_table()
    for byte in data[rows * _BYTES_PER_ROW :].tobytes():
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ _ALL_ONES


def _of_rows(rows: np.ndarray) -> int:
    low, high = _row_tables()
    words = rows[0].astype(np.uint32)
    words[0] ^= np.uint32(_ALL_ONES)
    for row in rows[1:]:
        words = low[words & np.uint32(0xFFFF)] ^ high[words >> np.uint32(16)] ^ row
    columns = _zero_bytes(4)
    while len(words) > 1:
        words = _move(columns, words[0::2]) ^ words[1::2]
        columns = _move(columns, columns)
    return int(_move(_zero_bytes(4), words)[0])


@lru_cache(maxsize=None)
def _byte_table() -> List[int]:
    """What one byte makes of the last eight bits of the state."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


@lru_cache(maxsize=None)
def _row_tables() -> List[np.ndarray]:
    """What a row of zeros makes of the lower and of the upper half of a state, for each half."""
    columns, halves = _zero_bytes(_BYTES_PER_ROW), np.arange(1 << 16, dtype=np.uint32)
    return [_move(columns, halves), _move(columns, halves << np.uint32(16))]


def _zero_bytes(count: int) -> np.ndarray:
    """
    Make the matrix of so many zero bytes: what each of the 32 bits of a state becomes, `(32,)` uint32.

    # Parameters

    count : a power of two.
    """
    table = np.array(_byte_table(), dtype=np.uint32)
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    columns = table[bits & np.uint32(0xFF)] ^ (bits >> np.uint32(8))
    for _ in range(count.bit_length() - 1):
        columns = _move(columns, columns)
    return columns


def _move(columns: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Multiply states, `(n,)` uint32, by a matrix."""
    moved = np.zeros_like(states)
    for bit in range(32):
        moved ^= ((states >> np.uint32(bit)) & np.uint32(1)) * columns[bit]
    return moved
