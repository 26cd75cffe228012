"""The document names the extras of the package and versions of the lock."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")


def test_extras_are_those_of_the_package():
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    (extras,) = (
        node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "extras_require"
    )
    table = TEXT.split("| extra | packages | for |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}

    assert named == {key.value for key in extras.keys}


def test_versions_are_those_of_the_lock():
    lock = dict(
        re.findall(r"^([\w-]+)==([^ \n]+)$", (ROOT / "requirements" / "requirements.lock").read_text(), re.MULTILINE)
    )
    named = re.findall(r"\b(torch|torchvision)==([\d.]+)", TEXT)

    assert dict(named) == {name: lock[name] for name in ("torch", "torchvision")}
