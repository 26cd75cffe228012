import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.formats.tensor_bundle.crc32c import crc32c, masked_crc32c
from tests.formats import bundles


def as_array(data):
    return np.frombuffer(data, np.uint8)


def test_known_values():
    """Of RFC 3720, appendix B.4, and the check value of the polynomial."""
    assert crc32c(as_array(b"123456789")) == 0xE3069283
    assert crc32c(as_array(bytes(32))) == 0x8A9136AA
    assert crc32c(as_array(b"\xff" * 32)) == 0x62A8AB43
    assert crc32c(as_array(bytes(range(32)))) == 0x46DD794E


@given(st.binary(max_size=200))
def test_short_data(data):
    assert crc32c(as_array(data)) == bundles.crc32c(data)
    assert masked_crc32c(as_array(data)) == bundles.masked(data)


@pytest.mark.parametrize("size", [16383, 16384, 16385, 49157])
def test_rows_and_what_is_left_of_them(size):
    data = np.random.RandomState(size).randint(0, 256, size).astype(np.uint8)

    assert crc32c(data) == bundles.crc32c(data.tobytes())
