"""Durations as AllenNLP writes them."""

import pytest

from elmo_plugin.adapters.durations import duration_of, seconds_of


@pytest.mark.parametrize(
    "duration, seconds",
    [("0:03:06.537768", 186.537768), ("12:00:00", 43200), ("1 day, 0:00:01", 86401), ("2 days, 1:00:00.5", 176400.5)],
)
def test_durations(duration: str, seconds: float) -> None:
    """As Python writes a timedelta."""
    assert seconds_of(duration) == pytest.approx(seconds)
    assert seconds_of(duration_of(seconds)) == pytest.approx(seconds)


def test_a_clock_that_was_set_back_makes_no_negative_time() -> None:
    """As AllenNLP writes it then."""
    assert seconds_of(duration_of(-2.5)) == 0.0


def test_other_durations_are_refused() -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="duration is '3 min', expected"):
        seconds_of("3 min")
