import pytest

from elmo_plugin.benchmark import timing


@pytest.mark.parametrize(
    "values,expected",
    [
        ([3.0], (3, 3, 3)),
        ([1.0, 2.0], (1.5, 1.25, 1.75)),
        ([5.0, 1.0, 2.0, 4.0, 3.0], (3, 2, 4)),
        ([1, 1, 9], (1, 1, 5)),
    ],
)
def test_spread_is_median_and_quartiles(values, expected):
    found = timing.spread(values)

    assert (found.median, found.low, found.high) == expected


def test_ratios_are_taken_round_by_round():
    """The second round was disturbed: both took ten times as long, and the ratio is what it was."""
    assert timing.ratios([4.0, 40.0], [2.0, 20.0]) == [2.0, 2.0]


def test_in_turns_alternates():
    calls = []

    def task(name):
        return lambda: calls.append(name) or float(len(calls))

    times = timing.in_turns({"a": task("a"), "b": task("b")}, rounds=3, seconds=60)

    assert calls == ["a", "b"] * 3
    assert times == {"a": [1.0, 3.0, 5.0], "b": [2.0, 4.0, 6.0]}


@pytest.mark.parametrize("rounds,expected", [(2, 2), (3, 3), (10, 5)])
def test_in_turns_begins_no_round_after_its_time_but_for_the_least(rounds, expected):
    now = iter(range(0, 1000, 10))

    times = timing.in_turns({"a": lambda: 1.0}, rounds, seconds=25, clock=lambda: next(now))

    # the clock is read at the beginning and before every round from the fourth on: 0, 10, 20, 30
    assert len(times["a"]) == expected


def test_nothing_to_measure():
    assert timing.in_turns({}, rounds=3, seconds=1) == {}
