"""The lock, the Makefile's refusals, and what tells AllenNLP about the plugin."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

import pytest

import elmo_plugin

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ]+)( ; (?P<marker>.+))?")


def lines(name: str) -> List[str]:
    text = (ROOT / "requirements" / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_lock_holds_pins_only() -> None:
    odd = [line for line in lines("requirements.lock") if not PIN.fullmatch(line)]

    assert odd == [], "no addresses, no paths, no ranges"


def test_lock_has_all_that_is_asked_for() -> None:
    locked: Dict[str, List[str]] = {}
    for pin in map(PIN.fullmatch, lines("requirements.lock")):
        locked.setdefault(pin["name"], []).append(pin["version"])
    for requirement in lines("requirements.in"):
        name, _, version = requirement.partition("==")
        assert name in locked, f"{name}: run `make lock`"
        assert version in ("", *locked[name]), f"{name}: run `make lock`"


def test_local_plugins_file_names_the_package() -> None:
    assert (ROOT / ".allennlp_plugins").read_text().split() == ["elmo_plugin"]


def test_version_is_unreleased_or_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()

    assert "## Unreleased" in changelog or f"## {elmo_plugin.__version__}" in changelog


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize(
    "python,message",
    [
        ("", "No suitable Python found. Install Python 3.11, 3.12 or 3.13"),
        ("/no/such/python", "/no/such/python does not run or is not Python 3.11, 3.12 or 3.13"),
    ],
)
def test_make_says_which_python_it_needs(python: str, message: str, tmp_path: Path) -> None:
    command = ["make", "env", f"VENV={tmp_path / 'venv'}", f"PYTHON={python}"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert run.returncode != 0
    assert message in run.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform == "win32", reason="the kernels are for x86-64")
@pytest.mark.parametrize("compiler", ["c++", "false"])
def test_kernels_are_built_where_there_is_a_compiler_and_left_out_where_not(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", str(tmp_path), "--build-temp", str(tmp_path)]
    environment = {**os.environ, "CC": compiler, "CXX": compiler}
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)

    assert run.returncode == 0, run.stderr
    assert bool(list(tmp_path.rglob("_kernels*.so"))) == (compiler == "c++"), run.stdout + run.stderr
