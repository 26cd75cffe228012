"""Tests of the table of the demonstration."""

from typing import Any, Dict, List

from rich.console import Console

from elmo_plugin.demo import table
from elmo_plugin.reproduction.outcome import Result


def result(test: float, dev: float, seconds: float, mixes: List[Dict[str, Any]]) -> Result:
    """Make the result of a run."""
    return Result({"test_accuracy": test, "best_validation_accuracy": dev}, seconds, mixes)


MIX = {"place": "input", "layers": [0, 1, 2], "weights": [0.2, 0.5, 0.3], "gamma": 1.25}


def shown(baseline: List[Result], elmo: List[Result]) -> List[str]:
    """Return the cells of each line that has some."""
    console = Console(width=100, record=True, force_terminal=False)
    table.show(baseline, elmo, console)
    lines = console.export_text().splitlines()
    return [" ".join(line.replace("│", " ").replace("┃", " ").split()) for line in lines]


def test_shows_accuracies_error_reduction_seconds_and_layers() -> None:
    """A fifth fewer errors: 80 to 84 percent."""
    lines = shown([result(0.8, 0.81, 61.4, [])], [result(0.84, 0.85, 300.2, [MIX])])

    assert "dev test test errors seconds" in lines
    assert "without ELMo 81.0 80.0 61" in lines
    assert "with ELMo 85.0 84.0 -20.0% 300" in lines
    assert "tokens LSTM 1 LSTM 2 gamma" in lines
    assert "input 0.20 0.50 0.30 1.25" in lines


def test_shows_means_and_spread_of_several_seeds() -> None:
    """Every run's layer weights are shown, the scores are summed up, and a loss is not hidden."""
    baseline = [result(0.8, 0.8, 10, []), result(0.82, 0.8, 20, [])]
    elmo = [result(0.79, 0.8, 30, [MIX]), result(0.81, 0.8, 50, [{**MIX, "place": "output", "gamma": 0.9}])]
    lines = shown(baseline, elmo)

    assert "without ELMo 80.0 ± 0.0 81.0 ± 1.4 15" in lines
    assert "with ELMo 80.0 ± 0.0 80.0 ± 1.4 +5.3% 40" in lines
    assert "input 0.20 0.50 0.30 1.25" in lines and "output 0.20 0.50 0.30 0.90" in lines
