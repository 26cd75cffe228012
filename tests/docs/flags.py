"""The flags of a command, and those that a table of the documents names."""

import re
import sys
from typing import Sequence, Set


def flags_of(commands: Sequence[str], monkeypatch) -> Set[str]:
    """Flags of a command, or of a command within one; without those that every command has."""
    from allennlp.commands import parse_args

    import elmo_plugin  # noqa: F401

    monkeypatch.setattr(sys, "argv", ["allennlp"])
    parser, _ = parse_args("allennlp")
    for command in commands:
        parser = parser._subparsers._group_actions[0].choices[command]
    flags = {flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")}
    return flags - {"--help", "--include-package"}


def flags_in(text: str, heading: str) -> Set[str]:
    """Flags in the first column of the table whose columns are `heading` and "meaning"."""
    table = text.split(f"| {heading} | meaning |")[1].split("\n\n")[0]
    return {flag for row in table.splitlines()[2:] for flag in re.findall(r"`(--[a-z-]+)`", row.split("|")[1])}
