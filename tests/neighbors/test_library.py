"""The library that searches, and what it says."""

import logging

import numpy as np
import pytest

pytest.importorskip("faiss")

from elmo_plugin.neighbors.library import load_faiss, unit


def test_faiss_does_not_say_what_it_has_not(caplog):
    caplog.set_level(logging.INFO)
    load_faiss()

    logging.getLogger("faiss.loader").info("Could not load library with AVX2 support")

    assert caplog.text == ""


def test_unit_vectors_have_length_one_and_zeros_stay():
    found = unit(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float16))

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)
