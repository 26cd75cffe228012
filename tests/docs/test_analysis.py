"""The flags that the document names are those of the commands."""

from pathlib import Path

import pytest

from tests.docs.flags import flags_in, flags_of

TEXT = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "heading,commands",
    [
        ("`build`", ["elmo-neighbors", "build"]),
        ("`query`", ["elmo-neighbors", "query"]),
        ("option", ["elmo-probes"]),
    ],
)
def test_flags_are_those_of_the_command(heading, commands, monkeypatch):
    pytest.importorskip("allennlp")

    assert flags_in(TEXT, heading) == flags_of(commands, monkeypatch)
