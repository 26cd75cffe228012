import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("dash")
pytest.importorskip("faiss")
pytest.importorskip("safetensors")
pytest.importorskip("waitress")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "explorer.py"


def test_it_prints_how_long_answers_take(capsys):
    main = runpy.run_path(str(SCRIPT))["main"]

    assert main(["--rounds", "2", "--words", "9"]) == 0

    line = capsys.readouterr().out
    assert re.fullmatch(
        r"builtin, sentences of 9 words, 2 rounds, answer of the server: median \d+ ms, 95 % within \d+ ms\n", line
    )
