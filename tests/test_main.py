"""`python -m elmo_plugin`: the `allennlp` program with the plugin loaded first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("allennlp")


def test_it_lists_our_commands_and_says_nothing_else(tmp_path: Path) -> None:
    # In a folder without .allennlp_plugins, without NLTK's data and without a network.
    dead = "http://127.0.0.1:9"
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "NLTK_DATA": str(tmp_path),
        "http_proxy": dead,
        "https_proxy": dead,
    }
    run = subprocess.run(
        [sys.executable, "-W", "default::UserWarning", "-m", "elmo_plugin", "--help"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stderr
    assert "elmo-vocabulary" in run.stdout
    assert [line for line in run.stderr.splitlines() if " INFO " not in line] == []
