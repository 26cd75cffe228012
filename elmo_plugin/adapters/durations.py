"""Durations as AllenNLP writes them into its metrics."""

import re
from datetime import timedelta


def seconds_of(duration: str) -> float:
    """
    Convert AllenNLP's durations: "1 day, 0:03:06.537768".

    # Returns

    At least 0: AllenNLP takes the time from a clock, which may be set back while it trains.
    """
    match = re.fullmatch(r"(?:(-?\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)", duration)
    if match is None:
        raise ValueError(f"duration is {duration!r}, expected one like '1 day, 0:03:06.537768'.")
    days, hours, minutes, seconds = match.groups(default="0")
    return max(0.0, ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds))


def duration_of(seconds: float) -> str:
    """Write a number of seconds as AllenNLP does."""
    return str(timedelta(seconds=seconds))
