"""The flags that the document names are those of the commands."""

import re
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("action", ["build", "query"])
def test_flags_are_those_of_the_command(action, monkeypatch):
    pytest.importorskip("allennlp")
    from allennlp.commands import parse_args

    import elmo_plugin.commands.elmo_neighbors  # noqa: F401

    monkeypatch.setattr(sys, "argv", ["allennlp"])
    parser, _ = parse_args("allennlp")
    command = parser._subparsers._group_actions[0].choices["elmo-neighbors"]
    subparser = command._subparsers._group_actions[0].choices[action]
    flags = {flag for one in subparser._actions for flag in one.option_strings if flag.startswith("--")}
    table = TEXT.split(f"| `{action}` | meaning |")[1].split("\n\n")[0]
    named = {flag for row in table.splitlines()[2:] for flag in re.findall(r"`(--[a-z-]+)`", row.split("|")[1])}

    assert named == flags - {"--help", "--include-package"}
