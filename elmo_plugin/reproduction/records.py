"""Trainings without their weights: what a table is computed from, small enough to be published with it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import List

from elmo_plugin.callbacks.elmo_layer_weights import FILE_NAME as LAYER_WEIGHTS
from elmo_plugin.reproduction import items, outcome, recovery
from elmo_plugin.reproduction.cells import PLACES
from elmo_plugin.reproduction.tables import CACHE_KEY, Plan
from elmo_plugin.reproduction.training import Run


class RecordsError(ValueError):
    """Records cannot be written there."""


def export(plan: Plan, target: Path) -> List[Path]:
    """
    Copy what the finished trainings of a table have left but for their weights: configuration, metrics, scored items,
    the weights of the layers by epoch, and `run.json`. `show` makes the table from the copies too, and `run` does not
    train them again.

    Paths of the machine are replaced by the names of their variables, "DATA" for example, and that of a cache is left
    out. A biLM that is named by its path keeps it, since it is in the names of its trainings.

    # Parameters

    plan : the table.
    target : the folder that gets the copies, as that of the plan has the trainings; a copy that is there is replaced.

    # Returns

    The copies.

    # Raises

    `RecordsError` where the target is the folder of the plan itself, or a training with its weights is in the place of
        a copy.
    `TrainingError` where a training is damaged.
    """
    if target.resolve() == plan.folder.resolve():
        raise RecordsError(f"{target}: the trainings themselves are there, expected another folder for the copies.")
    copies = {}
    for job in plan.jobs():
        if job.is_done:
            run = job.run
            copy = target / run.folder.relative_to(plan.folder)
            if outcome.is_finished(copy):
                raise RecordsError(f"{copy}: is a training with its weights, expected a copy without, or nothing.")
            outcome.collect(run.folder)  # nothing damaged takes the place of an older copy
            copies[copy] = run
    for copy, run in copies.items():
        _copy(run, copy)
    return list(copies)


def _copy(run: Run, copy: Path) -> None:
    if copy.exists():
        shutil.rmtree(copy)
    copy.mkdir(parents=True)
    for name in (
        outcome.METRICS,
        LAYER_WEIGHTS,
        *(items.path_of(run.folder, split).name for split in outcome.PREFIXES),
    ):
        if (run.folder / name).exists():
            shutil.copyfile(run.folder / name, copy / name)
    public = _public(run)
    recovery.configure(copy, public.config, public.variables, public.changes())
    if (run.folder / outcome.RECORD).exists():
        record = {**outcome.read_object(run.folder / outcome.RECORD), "command": public.command_line()}
        (copy / outcome.RECORD).write_text(json.dumps(record, indent=2), encoding="utf-8")


def _public(run: Run) -> Run:
    """The same training as anyone would start it; a cache of layers changes no number."""
    variables = {name: name if name in PLACES else value for name, value in run.variables.items()}
    overrides = {key: value for key, value in run.overrides.items() if key != CACHE_KEY}
    folder = Path(run.folder.parent.name) / run.folder.name
    return replace(run, folder=folder, variables=variables, overrides=overrides)
