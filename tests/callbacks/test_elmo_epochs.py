"""A line for each epoch."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("allennlp")

from allennlp.commands.train import train_model  # noqa: E402

from tests.callbacks.test_elmo_resume import configuration  # noqa: E402

CALLBACKS = [{"type": "elmo_resume"}, {"type": "elmo_epochs"}]


def lines_of(said: str) -> list:
    return [line for line in said.splitlines() if re.match("epoch|goes on", line)]


def test_each_epoch_has_a_line(tmp_path: Path, capsys: Any) -> None:
    """Also those behind an interruption; at a learning rate of 0 all score alike, and the first one stays the best."""
    folder = tmp_path / "run"
    configuration_of_two = configuration(tmp_path, CALLBACKS, num_epochs=2)
    train_model(configuration_of_two, str(folder))

    lines = lines_of(capsys.readouterr().out)
    pattern = r"epoch (\d) of at most 2, accuracy (0\.\d{4}) \(best (0\.\d{4})\); best in epoch 1; 0:00:\d\d"
    found = [re.fullmatch(pattern, line) for line in lines]
    assert [match and match[1] for match in found] == ["1", "2"]
    assert len({match[place] for match in found if match for place in (2, 3)}) == 1

    (folder / "config.json").unlink()
    configuration_of_three = configuration(tmp_path, CALLBACKS, num_epochs=3)
    configuration_of_three.duplicate().to_file(str(folder / "config.json"))
    train_model(configuration_of_three, str(folder), recover=True)

    first, second = lines_of(capsys.readouterr().out)
    assert first == "goes on behind epoch 2" and second.startswith("epoch 3 of at most 3, accuracy ")


def test_without_a_development_part(tmp_path: Path, capsys: Any) -> None:
    params = configuration(tmp_path, CALLBACKS, num_epochs=1)
    params.pop("validation_data_path")
    train_model(params, str(tmp_path / "run"))

    (line,) = lines_of(capsys.readouterr().out)
    assert re.fullmatch(r"epoch 1 of at most 1; 0:00:\d\d", line)
