import logging
import runpy
from pathlib import Path

import pytest

pytest.importorskip("allennlp_models")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "task_training.py"


@pytest.fixture(scope="module")
def main():
    return runpy.run_path(str(SCRIPT))["main"]


def test_both_taggers_train_and_the_ratio_is_printed(main, capsys):
    arguments = ["--sizes", "tiny", "--sentences", "6", "--epochs", "2", "--rounds", "1"]
    disabled = logging.root.manager.disable

    assert main(arguments) == 0

    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("| tiny"))
    without, first, later = (float(cell) for cell in line.split("|")[2:5])
    assert min(without, first, later) > 0
    # All are rounded to two digits, which for an epoch this short may be much of it.
    least, most = (later - 0.005) / (without + 0.005), (later + 0.005) / (without - 0.005)
    assert least - 0.005 <= float(line.split("|")[5].split("x")[0]) <= most + 0.005
    assert logging.root.manager.disable == disabled


def test_one_epoch_is_too_few(main, capsys):
    with pytest.raises(SystemExit):
        main(["--epochs", "1"])

    assert "--epochs must be 2 or more" in capsys.readouterr().err
