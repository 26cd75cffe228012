import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_notes_memory_and_judges_its_growth(capsys, monkeypatch):
    main = runpy.run_path(str(SCRIPT))["main"]

    def run(allowed):
        monkeypatch.setattr("sys.argv", ["soak.py", "--batches", "12", "--notes", "6", f"--allowed={allowed}"])
        return main()

    assert run("1e9") == 0
    output = capsys.readouterr()
    assert len(output.err.splitlines()) == 6 and "| 12 |" in output.out
    assert run("-1e9") == 1
