import runpy
from pathlib import Path

import pytest

pytest.importorskip("h5py")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "embedding.py"


def test_it_prints_a_share_for_each_format(capsys, tmp_path):
    main = runpy.run_path(str(SCRIPT))["main"]
    arguments = ["--sentences", "8", "--rounds", "1", "--formats", "hdf5", "npz", "--folder", str(tmp_path)]

    assert main([*arguments, "--at-least", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["builtin,", "engine", "hdf5", "npz"]
    assert "100.0%" in lines[1] and list(tmp_path.iterdir()) == []
    assert main([*arguments, "--at-least", "1e9"]) == 1
