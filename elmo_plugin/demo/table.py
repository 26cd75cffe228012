"""The table at the end of the demonstration."""

from typing import Dict, List, Sequence

from rich.console import Console, Group
from rich.table import Table

from elmo_plugin.reproduction.layer_sheet import layer_name
from elmo_plugin.reproduction.outcome import Result
from elmo_plugin.reproduction.scores import error_reduction, score


def show(baseline: Sequence[Result], elmo: Sequence[Result], console: Console) -> None:
    """Print the comparison of the runs without and with ELMo, one per seed in each."""
    console.print(Group(scores_table(baseline, elmo), "", layers_table(elmo)))


def scores_table(baseline: Sequence[Result], elmo: Sequence[Result]) -> Table:
    """Set accuracies, error reduction and seconds."""
    runs = f", mean of {len(elmo)} seeds ± standard deviation" if len(elmo) > 1 else ""
    table = Table(title=f"Accuracy in percent{runs}")
    for column in ("", "dev", "test", "test errors", "seconds"):
        table.add_column(column, justify="left" if not column else "right")
    base = score([result.metrics["test_accuracy"] for result in baseline]).mean
    for name, results in (("without ELMo", baseline), ("with ELMo", elmo)):
        test = score([result.metrics["test_accuracy"] for result in results])
        change = "" if results is baseline else f"{-error_reduction(base, test.mean):+.1f}%"
        dev = score([result.metrics["best_validation_accuracy"] for result in results])
        seconds = sum(result.seconds for result in results) / len(results)
        table.add_row(name, str(dev), str(test), change, f"{seconds:.0f}")
    return table


def layers_table(elmo: Sequence[Result]) -> Table:
    """
    Set what the task has learned about the layers of the biLM: their weights, and gamma that scales the whole.

    A line for each run and place where ELMo enters: the input or the output of the model's first biLSTM.
    """
    table = Table(title="Learned weights of the biLM's layers")
    mixes = [mix for result in elmo for mix in result.mixes]
    table.add_column("")
    for layer in mixes[0]["layers"]:
        table.add_column(layer_name(layer), justify="right")
    table.add_column("gamma", justify="right")
    for mix in mixes:
        table.add_row(*_numbers(mix))
    return table


def _numbers(mix: Dict) -> List[str]:
    return [mix["place"], *(f"{weight:.2f}" for weight in mix["weights"]), f"{mix['gamma']:.2f}"]
