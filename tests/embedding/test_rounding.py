import numpy as np
import pytest

from elmo_plugin.embedding.rounding import check_dtype, rounded
from elmo_plugin.engine.errors import OptionsError


def test_numbers_keep_their_place():
    vectors = np.array([[0.1, -3.0], [65504.0, 0.0]], dtype=np.float32)

    assert rounded(vectors, "float32", "here").dtype == np.float32
    np.testing.assert_array_equal(rounded(vectors, "float16", "here"), vectors.astype("float16"))


@pytest.mark.parametrize("number", [70000.0, np.inf, np.nan])
def test_what_does_not_fit_is_named(number):
    with pytest.raises(OptionsError, match="line 3: a vector has numbers that float16 does not hold"):
        rounded(np.array([number], dtype=np.float32), "float16", "line 3")


def test_dtypes():
    check_dtype("float16")
    with pytest.raises(OptionsError, match="dtype is 'int8'; choose one of"):
        check_dtype("int8")
