"""Trainings without their weights: what a table is computed from, small enough to be published with it."""

import json
import shlex
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Tuple

from elmo_plugin.callbacks.elmo_layer_weights import FILE_NAME as LAYER_WEIGHTS
from elmo_plugin.reproduction import items, outcome, recovery
from elmo_plugin.reproduction.cells import PLACES, SEEDS, essence, fingerprint, resolve
from elmo_plugin.reproduction.jobs import Job, TablePlan
from elmo_plugin.reproduction.plan import CACHE_KEY
from elmo_plugin.reproduction.training import Run
from elmo_plugin.reproduction.tunings import PerplexityJob, read_perplexities

#: what of perplexities is the path of a biLM or of a text
_NAMES = ("weights", "text")


class RecordsError(ValueError):
    """Records cannot be written there."""


def export(plan: TablePlan, target: Path) -> List[Path]:
    """
    Copy what the finished trainings of a table have left but for their weights: configuration, metrics, scored items
    or perplexities, the weights of the layers by epoch, and `run.json`. `show` makes the table from the copies too, and
    `run` does not train them again.

    Paths of the machine are replaced by names, "DATA" for example, "RUNS" for the folder of all runs; those of a cache,
    and of what perplexities are of, are left out. A biLM that is named by a path elsewhere keeps it, since it is in the
    names of its trainings.

    # Parameters

    plan : the table.
    target : the folder that gets the copies, as that of the plan has the trainings; a copy that is there is replaced.

    # Returns

    The copies.

    # Raises

    `RecordsError` where the target is the folder of the plan itself, a training with its weights is in the place of a
        copy, or one has another configuration than its name says.
    `TrainingError` or `ItemsError` where a training or what it has scored is damaged: nothing is copied then.
    """
    if target.resolve() == plan.folder.resolve():
        raise RecordsError(f"{target}: the trainings themselves are there, expected another folder for the copies.")
    copies: Dict[Path, Tuple[Run, Dict[str, str]]] = {}
    for job in plan.jobs():
        if job.is_done:
            copy = target / job.run.folder.relative_to(plan.folder)
            if outcome.is_finished(copy):
                raise RecordsError(f"{copy}: is a training with its weights, expected a copy without, or nothing.")
            texts = _scored(job)
            _check_configuration(job.run)
            record = json.loads(texts.get(outcome.RECORD, "{}"))
            public = _public(_as_recorded(job.run, str(record.get("command", ""))), plan.folder)
            if outcome.RECORD in texts:
                texts[outcome.RECORD] = json.dumps({**record, "command": public.command_line()}, indent=2)
            copies[copy] = (public, texts)
    for copy, (public, texts) in copies.items():
        part = copy.with_name(f"{copy.name}.copy")
        if part.exists():
            shutil.rmtree(part)
        part.mkdir(parents=True)
        recovery.configure(part, public.config, public.variables, public.changes())
        for name, text in texts.items():
            (part / name).write_text(text, encoding="utf-8")
        if copy.exists():
            shutil.rmtree(copy)
        part.rename(copy)
    return list(copies)


def _check_configuration(run: Run) -> None:
    """Refuse what was trained by another configuration than its name says: that of an experiment in change."""
    trained = outcome.read_object(run.folder / recovery.CONFIGURATION)
    if essence(trained) != essence(resolve(run.config, run.variables)):
        raise RecordsError(
            f"{run.folder}: its {recovery.CONFIGURATION} is not that of {run.config}, by which it is named: the "
            "experiment has changed while it was trained. Remove the folder to train again."
        )


def _scored(job: Job) -> Dict[str, str]:
    """The texts of the files that are copied, by their names, once they are known to be whole."""
    folder = job.run.folder
    outcome.collect(folder)
    paths = [folder / name for name in (outcome.METRICS, outcome.RECORD, LAYER_WEIGHTS) if (folder / name).exists()]
    # Of either part: another table may score the other one.
    paths += [items.path_of(folder, split) for split in outcome.PREFIXES if items.read(folder, split) is not None]
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    if isinstance(job, PerplexityJob):
        for path in job.leaves:
            numbers = {key: value for key, value in read_perplexities(path).items() if key not in _NAMES}
            texts[path.name] = json.dumps(numbers, indent=2)
    return texts


def _as_recorded(run: Run, command: str) -> Run:
    """
    The training as it was last started: for another table, maybe, which has the same one under another name, and at
    that time perhaps alone. As the table has it where that is not known, or the experiment has changed or gone since.
    """
    try:
        words = shlex.split(command)
        config, changes = Path(words[words.index("train") + 1]), json.loads(words[words.index("-o") + 1])
        overrides = {key: value for key, value in changes.items() if key not in SEEDS}
        is_same = config == run.config or fingerprint(config, run.variables) == fingerprint(run.config, run.variables)
    except (ValueError, IndexError, AttributeError, OSError):
        return run
    return replace(run, config=config, overrides=overrides) if is_same else run


def _public(run: Run, folder: Path) -> Run:
    """The same training as anyone would start it; a cache of layers changes no number."""
    variables = {name: name if name in PLACES else value for name, value in run.variables.items()}
    with suppress(ValueError):  # which says that the biLM is not below the folder
        variables["BILM"] = str(Path("RUNS") / folder.name / Path(variables["BILM"]).relative_to(folder.absolute()))
    overrides = {key: value for key, value in run.overrides.items() if key != CACHE_KEY}
    return replace(run, variables=variables, overrides=overrides)
