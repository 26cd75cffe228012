"""The options that the document names are those of the command, its limits those of the page, its pictures there."""

import re
from pathlib import Path

import pytest

from elmo_plugin.explorer.limits import LIMITS
from tests.docs.flags import flags_in, flags_of

FOLDER = Path(__file__).parents[2] / "docs"
TEXT = (FOLDER / "explorer.md").read_text(encoding="utf-8")


def test_options_are_those_of_the_command(monkeypatch):
    pytest.importorskip("allennlp")

    assert flags_in(TEXT, "option") == flags_of(["elmo-explore"], monkeypatch)


def test_limits_are_those_of_the_page():
    (line,) = re.findall(r"\*\*Sizes\*\*: (.*?) at once\.", TEXT, re.DOTALL)
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line)]

    assert numbers == [*LIMITS[:5], LIMITS.upload >> 30, LIMITS.unpacked >> 30, LIMITS.mixes]


def test_pictures_are_there_and_small():
    named = set(re.findall(r"\]\((explorer/[a-z]+\.png)\)", TEXT))
    there = {path.relative_to(FOLDER).as_posix(): path.stat().st_size for path in (FOLDER / "explorer").glob("*.png")}

    assert named == set(there)
    assert all(size < 150_000 for size in there.values()), there
