import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.corpus.bootstrap import central, resamples


@given(st.integers(1, 40), st.integers(0, 5))
def test_each_text_has_as_many_sentences_and_a_seed_gives_the_same_texts(sentences, seed):
    drawn = list(resamples(sentences, 3, seed))

    assert [(len(times), times.sum(), times.min() >= 0) for times in drawn] == [(sentences, sentences, True)] * 3
    assert all((one == other).all() for one, other in zip(drawn, resamples(sentences, 3, seed)))


def test_as_much_is_left_out_below_as_above():
    assert central(np.arange(101), 0.9) == pytest.approx((5, 95))
