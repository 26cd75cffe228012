"""Test of the description of the demonstration."""

import re
from pathlib import Path

from elmo_plugin.demo import reviews
from elmo_plugin.demo.__main__ import parser

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8")


def test_its_commands_are_understood() -> None:
    """Each command line in it parses."""
    commands = re.findall(r"^python -m elmo_plugin.demo ?([^#\n]*)", TEXT, re.MULTILINE)

    assert len(commands) >= 3
    for command in commands:
        parser().parse_args(command.split())


def test_it_names_the_data_as_the_code_does() -> None:
    """Package, version and file."""
    name, version = reviews.PACKAGE.split("==")

    assert name in TEXT and version in TEXT and reviews.MEMBER in TEXT


def test_its_links_lead_somewhere() -> None:
    """Every relative link is a file."""
    links = [link for link in re.findall(r"\]\(([^)#]+)", TEXT) if "://" not in link]

    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
