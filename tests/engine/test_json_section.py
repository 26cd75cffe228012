import pytest

from elmo_plugin.engine import json_section
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.json_section import JsonSection

SECTION = JsonSection({"a": {"b": {"n": 3, "no": -1}}, "x": [1], "none": None}, "file.json")


def test_values_are_found_and_converted():
    inner = SECTION.section("a").section("b")

    assert inner.require("n", json_section.positive) == 3
    assert inner.get("missing", json_section.positive, 7) == 7
    assert SECTION.get("none", json_section.optional(json_section.positive), 7) is None


@pytest.mark.parametrize(
    "ask,message",
    [
        (lambda: SECTION.section("y"), "file.json: key 'y' is missing, expected a JSON object."),
        (lambda: SECTION.section("x"), r"file.json: key 'x' is \[1\], expected a JSON object."),
        (
            lambda: SECTION.section("a").section("b").require("m", json_section.count),
            "key 'a.b.m' is missing, expected a",
        ),
        (
            lambda: SECTION.section("a").section("b").require("no", json_section.count),
            "file.json: key 'a.b.no' is -1, expected a whole number of at least 0.",
        ),
        (lambda: SECTION.section("a").refuse_unknown(("c",)), "file.json: unknown key 'a.b'.*Known here: c."),
        (lambda: JsonSection([], "file.json"), r"file.json: the whole file is \[\], expected a JSON object."),
    ],
)
def test_what_does_not_fit_is_named(ask, message):
    with pytest.raises(OptionsError, match=message):
        ask()


@pytest.mark.parametrize(
    "convert,good,bad",
    [
        (json_section.positive, [1, 9], [0, -1, True, 1.0, "1", None]),
        (json_section.count, [0, 9], [-1, False, 0.0, None]),
        (json_section.bound, [0.5, 3], [0, -1, True, float("inf"), float("nan"), "3", None]),
        (json_section.boolean, [True, False], [0, 1, "true", None]),
        (json_section.one_of(("relu", "tanh")), ["relu"], ["RELU", 1, None]),
        (json_section.one_of((261, 262)), [261], [260, 261.0, True, "261"]),
    ],
)
def test_conversions(convert, good, bad):
    assert [convert(value) for value in good] == good
    for value in bad:
        with pytest.raises(ValueError):
            convert(value)


def test_long_values_are_shortened():
    assert json_section.shortened("short") == "'short'"
    assert len(json_section.shortened(list(range(99)))) == 60
