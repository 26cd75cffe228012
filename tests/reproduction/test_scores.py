"""Tests of scores over several runs."""

import math

import pytest

from elmo_plugin.reproduction.scores import error_reduction, score


def test_score_is_mean_and_sample_deviation_in_percent() -> None:
    """The deviation divides by one less than the number of runs."""
    found = score([0.5, 0.6, 0.7])

    assert found.mean == pytest.approx(60)
    assert found.deviation == pytest.approx(10)
    assert str(found) == "60.0 ± 10.0"


def test_score_of_one_run_has_no_deviation() -> None:
    """One run says nothing about the spread."""
    assert math.isnan(score([0.514]).deviation)
    assert str(score([0.514])) == "51.4"


def test_error_reduction_is_that_of_the_paper() -> None:
    """Peters et al. (2018), table 1: SNLI 88.0 to 88.7 is 5.8 %, SST-5 51.4 to 54.7 is 6.8 %."""
    assert error_reduction(88.0, 88.7) == pytest.approx(5.8, abs=0.05)
    assert error_reduction(51.4, 54.7) == pytest.approx(6.8, abs=0.05)
    assert error_reduction(80.0, 75.0) == pytest.approx(-25)
