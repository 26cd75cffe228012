import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from elmo_plugin.formats import forget_bias
from tests.formats.strategies import float32s

rows = st.lists(float32s, min_size=1, max_size=8).map(lambda values: np.array(values, dtype=np.float32))


@given(rows)
@example(np.array([0.0, -0.0, 1e-9, -1.0, -1 + 6e-8, 1e-45, -3e38, 0.1, 2.0**24], dtype=np.float32))
def test_every_float32_comes_back_bit_for_bit(raw):
    bias, residual = forget_bias.add_one(raw)

    assert bias.dtype == residual.dtype == np.float32
    assert forget_bias.subtract_one(bias, residual).tobytes() == raw.tobytes()


def test_plain_subtraction_would_lose_bits():
    """The reason for the residual: without it almost no trained bias survives."""
    raw = np.random.RandomState(0).standard_normal(1000).astype(np.float32) / 10
    lost = (raw + np.float32(1)) - np.float32(1) != raw

    assert lost.mean() > 0.9


@given(rows)
def test_the_bias_is_what_allennlp_computes(raw):
    expected = raw.copy()
    expected += 1

    assert forget_bias.add_one(raw)[0].tobytes() == expected.tobytes()


@given(
    st.floats(0.5, 100, width=32).map(np.float32),
    st.floats(-(2.0**-25), 2.0**-25, width=32).map(np.float32),
)
def test_a_trained_bias_is_read_back_exactly_whatever_residual_is_left_from_before(bias, residual):
    bias, residual = np.array([bias]), np.array([residual])
    raw = forget_bias.subtract_one(bias, residual)

    assert forget_bias.is_exact(bias, raw).all()
    assert forget_bias.add_one(raw)[0].tobytes() == bias.tobytes()


def test_a_bias_near_zero_has_no_exact_counterpart_and_is_told():
    bias = np.array([0.1, 1e-9, 0.25], dtype=np.float32)
    raw = forget_bias.subtract_one(bias, np.zeros_like(bias))

    assert forget_bias.is_exact(bias, raw).tolist() == [False, False, True]
    assert np.abs(forget_bias.add_one(raw)[0] - bias).max() < 3e-8
    assert forget_bias.restore(bias, raw, forget_bias.add_one(raw)[0]).tobytes() == bias.tobytes()


def test_a_stored_bias_is_not_used_where_the_file_was_changed():
    stored = np.array([0.1, 0.1], dtype=np.float32)
    raw = forget_bias.subtract_one(stored, np.zeros_like(stored))
    raw[1] = 0.5
    restored = forget_bias.restore(stored, raw, forget_bias.add_one(raw)[0])

    assert restored.tolist() == [stored[0], 1.5]
