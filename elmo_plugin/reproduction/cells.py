"""The cells of the paper's tables: one experiment each, whose first line says what the paper has there."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from elmo_plugin.reproduction.named import named_in

SCALES = ("small", "paper")
TABLES = ("table1", "table2", "table3", "figure1", "figure2")
BASELINE = "baseline"

#: the keys of a configuration that hold one
SEEDS = ("random_seed", "numpy_seed", "pytorch_seed")

#: variables of the experiments that hold paths of one machine, and are in the name of no training
PLACES = ("DATA", "SST_DATA", "VECTORS")

#: where the cells of a table are that has some, or all, from another one
_FOLDERS = {"figure1": ("figure1", "table1"), "figure2": ("table1",)}
#: callbacks that change no number of a training
_ONLOOKERS = (
    "elmo_epochs",
    "elmo_export",
    "elmo_fast_forward",
    "elmo_layer_weights",
    "elmo_progress",
    "elmo_resume",
)
_PERCENT = re.compile(r", (\d+(?:\.\d+)?) % of the training data: ")
_PAPER = re.compile(r": (test|development) (.+?) (\d+\.\d+)(?: ± (\d+\.\d+))?\.$")


class CellError(ValueError):
    """An experiment does not say what a cell has to say, or there is none."""


@dataclass(frozen=True)
class Cell:
    """
    A cell of a table.

    # Parameters

    config : the experiment.
    task : "ner", "sst", ...
    variant : of the task's model: "baseline", "elmo", "last", ...
    split : "test" or "development", what the paper scores.
    paper : the paper's score in percent; None where it prints none.
    paper_deviation : and its spread over seeds.
    printed : both as the paper prints them, "92.22 ± 0.10"; empty where it prints none.
    percent : of the training data that are used.
    """

    config: Path
    task: str
    variant: str
    split: str
    paper: Optional[float] = None
    paper_deviation: Optional[float] = None
    percent: float = 100.0
    printed: str = ""

    @property
    def is_baseline(self) -> bool:
        """Whether it is the task's model without ELMo."""
        return self.variant.partition("_")[0] == BASELINE


def cells_of(table: str, experiments: Path, tasks: Optional[Sequence[str]] = None) -> List[Cell]:
    """
    Find the cells of a table, or those of some tasks.

    Figure 1 goes up to all of the training data, which is table 1; figure 2 shows what the models of table 1 learn.

    # Raises

    `CellError` where there is no such table or task.
    """
    folders = [experiments / name for name in _FOLDERS.get(table, (table,))]
    cells = [read_cell(path) for folder in folders for path in sorted(folder.glob("*.jsonnet"))]
    if table == "figure1":
        drawn = {cell.task for cell in cells if cell.percent < 100}
        cells = [cell for cell in cells if cell.task in drawn]
    elif table == "figure2":
        cells = [cell for cell in cells if not cell.is_baseline]
    if not cells:
        raise CellError(
            f"{(experiments / table).absolute()}: no experiments. Start this command in the repository's root."
        )
    check_tasks(table, tasks, [cell.task for cell in cells])
    return sorted((cell for cell in cells if not tasks or cell.task in tasks), key=_order)


def check_tasks(table: str, tasks: Optional[Sequence[str]], known: Sequence[str]) -> None:
    """Raise `CellError` where a table, whose tasks are known, does not have one of these."""
    wrong = sorted(set(tasks or ()) - set(known))
    if wrong:
        raise CellError(f"{table} has no task {wrong}; choose from {sorted(set(known))}.")


def _order(cell: Cell) -> Any:
    return cell.task, cell.percent, not cell.is_baseline, cell.paper or 0.0, cell.variant


def read_cell(path: Path) -> Cell:
    """
    Read what the first line of an experiment says.

    # Raises

    `CellError` where it says neither the paper's score nor that there is none.
    """
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    task, _, variant = path.stem.partition("_")
    found = _PAPER.search(first)
    if found is None:
        if "no number is printed" not in first:
            raise CellError(f"{path}: the first line is {first!r}, expected one that ends like ': test F1 84.6.'")
        percent = _PERCENT.search(first)
        return Cell(path, task, variant, "test", percent=float(percent.group(1)) if percent else 100.0)
    split, _, score, deviation = found.groups()
    printed = score if deviation is None else f"{score} ± {deviation}"
    spread = None if deviation is None else float(deviation)
    return Cell(path, task, variant, split, float(score), spread, printed=printed)


def resolve(config: Path, variables: Mapping[str, str]) -> Dict[str, Any]:
    """
    Evaluate an experiment as AllenNLP does.

    # Raises

    `CellError` where jsonnet cannot: it is being edited, for example.
    """
    from allennlp.common import Params

    try:
        return Params.from_file(str(config), ext_vars=dict(variables)).as_dict(quiet=True)
    except (RuntimeError, UnicodeError) as error:  # the first one is jsonnet's
        raise CellError(f"{config}: jsonnet cannot evaluate it: {str(error).strip()}. Correct it.") from error


def callbacks_of(content: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The callbacks of a configuration, each as an object, though AllenNLP takes a name alone too."""
    found = content.get("trainer", {}).get("callbacks") or []
    return [{"type": callback} if isinstance(callback, str) else callback for callback in found]


def _taking_part(content: Mapping[str, Any]) -> List[Dict[str, Any]]:
    return [callback for callback in callbacks_of(content) if callback.get("type") not in _ONLOOKERS]


def essence(content: Any, key: str = "") -> Any:
    """What of a configuration makes a training what it is, wherever its data and biLM lie and whoever looks on."""
    if isinstance(content, Mapping):
        left = {name: value for name, value in content.items() if name not in (*SEEDS, "checkpointer", "cache")}
        if "callbacks" in left:
            left["callbacks"] = _taking_part({"trainer": left})
        return {name: essence(value, name) for name, value in left.items() if (name, value) != ("callbacks", [])}
    if isinstance(content, list):
        return [essence(value) for value in content]
    return "" if isinstance(content, str) and next(named_in(content, key), None) is not None else content


def without_places(config: Path, variables: Mapping[str, str]) -> Dict[str, Any]:
    """Evaluate an experiment wherever its data lie."""
    return resolve(config, {**variables, **dict.fromkeys(PLACES, "")})


def fingerprint(config: Path, variables: Mapping[str, str]) -> str:
    """
    Name what an experiment trains, wherever its data lie and whoever looks on.

    Cells of several tables that are the same training have the same name, and an experiment that was changed has a new
    one. A biLM is named by its name or path.
    """
    return fingerprint_of(without_places(config, variables))


def fingerprint_of(content: Mapping[str, Any]) -> str:
    """As `fingerprint`, of an experiment that was evaluated by `without_places`."""
    named = {key: value for key, value in content.items() if key not in SEEDS}
    others = _taking_part(content)
    if "trainer" in named:
        trainer = {key: value for key, value in named["trainer"].items() if key != "callbacks"}
        named["trainer"] = {**trainer, "callbacks": others} if others else trainer
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:10]
