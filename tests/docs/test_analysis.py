"""The flags that the document names are those of the commands."""

import re
import sys
from pathlib import Path

import pytest

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
    from allennlp.commands import parse_args

    import elmo_plugin  # noqa: F401

    monkeypatch.setattr(sys, "argv", ["allennlp"])
    subparser, _ = parse_args("allennlp")
    for command in commands:
        subparser = subparser._subparsers._group_actions[0].choices[command]
    flags = {flag for one in subparser._actions for flag in one.option_strings if flag.startswith("--")}
    table = TEXT.split(f"| {heading} | meaning |")[1].split("\n\n")[0]
    named = {flag for row in table.splitlines()[2:] for flag in re.findall(r"`(--[a-z-]+)`", row.split("|")[1])}

    assert named == flags - {"--help", "--include-package"}
