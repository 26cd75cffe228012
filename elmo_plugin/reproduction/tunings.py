"""The fine-tuning of the biLM on the texts of the tasks (table 7 of the supplement), and what the tasks make of it."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from overrides import overrides

from elmo_plugin.reproduction import outcome, training
from elmo_plugin.reproduction.cells import Cell, CellError, check_tasks, fingerprint, read_cell
from elmo_plugin.reproduction.jobs import Job, TablePlan
from elmo_plugin.reproduction.outcome import TrainingError
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.training import Run

TABLE = "table7"
FOLDER = "finetuning"
#: of every tuning; the tasks are trained with several
SEED = 1
#: of a task with several texts that on which the biLM of its model is tuned
_TEXTS = {"squad": "contexts"}
#: what predicts the text: the biLM from which a tuning starts, and the tuned one
BEFORE, AFTER = "before", "after"

_PERPLEXITIES = re.compile(r"^// Table 7 .*: perplexity (\d+\.\d+) before(?: and (\d+\.\d+) after)?\b")


@dataclass(frozen=True)
class Tuning:
    """
    One epoch on the text of a task.

    # Parameters

    config : the experiment.
    task : "ner", "sst", ...
    text : which of the task's texts: "contexts", for example; empty where all of them.
    paper_before, paper_after : the paper's perplexities; None where it lists no tuned one.
    cell : the task's model with the biLM of the variable BILM; None where none is trained.
    """

    config: Path
    task: str
    text: str
    paper_before: float
    paper_after: Optional[float] = None
    cell: Optional[Cell] = None


def tunings_of(experiments: Path, tasks: Optional[Sequence[str]] = None) -> List[Tuning]:
    """
    Find the tunings of all tasks, or those of some: the experiments `finetuning/TASK.jsonnet` and
    `finetuning/TASK_TEXT.jsonnet` whose first line has the paper's perplexities. `finetuning/TASK_task.jsonnet` is the
    task's model.

    # Raises

    `CellError` where there is none.
    """
    found = _found(experiments)
    if not found:
        raise CellError(
            f"{(experiments / FOLDER).absolute()}: no experiments. Start this command in the repository's root."
        )
    check_tasks(TABLE, tasks, [one.task for one in found])
    return [one for one in found if not tasks or one.task in tasks]


def tuned_bilms(
    experiments: Path, tasks: Sequence[str], variables: Mapping[str, str], folder: Path
) -> Dict[str, "PerplexityJob"]:
    """
    Return what tunes the biLM on the text of each of these tasks, as `Plan.tuned`; of questions on the paragraphs.

    # Parameters

    experiments : the folder of all experiments.
    tasks : none where it is empty.
    variables, folder : as in `Plan`.

    # Raises

    `CellError` where a task's text is the subject of no experiment, or of several and none of them is for its model.
    """
    found = tunings_of(experiments, tasks) if tasks else []
    chosen = _of_models(found)
    left = {one.task for one in found} - {one.task for one in chosen}
    if left:
        raise CellError(
            f"{experiments / FOLDER}: no experiment tunes the biLM for the model of {sorted(left)}; of several texts "
            f"expected one that is named in {_TEXTS}."
        )
    return {one.task: PerplexityJob(run_of(one, variables, folder)) for one in chosen}


def _found(experiments: Path) -> List[Tuning]:
    return [one for one in map(_read, sorted((experiments / FOLDER).glob("*.jsonnet"))) if one is not None]


def _of_models(found: Sequence[Tuning]) -> List[Tuning]:
    """Those whose biLM a task's model gets."""
    return [one for one in found if one.text == _TEXTS.get(one.task, "")]


def _read(path: Path) -> Optional[Tuning]:
    numbers = _PERPLEXITIES.search(path.read_text(encoding="utf-8"))
    if numbers is None:
        return None
    before, after = numbers.groups()
    task, _, text = path.stem.partition("_")
    model = path.with_name(f"{task}_task.jsonnet")
    cell = read_cell(model) if model.exists() else None
    return Tuning(path, task, text, float(before), None if after is None else float(after), cell)


class PerplexityJob(Job):
    """A tuning, whose text is scored by the biLM that it starts from, and by the tuned one."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, "perplexities before and after")

    @property
    @overrides
    def leaves(self) -> Sequence[Path]:
        return [perplexities_of(self.run, moment) for moment in (BEFORE, AFTER)]

    @overrides
    def score(self, keep_open: Sequence[int]) -> None:
        bilms = (self.run.variables["BILM"], str(self.run.folder / outcome.ARCHIVE))
        for bilm, path in zip(bilms, self.leaves):
            if not path.exists():
                training.score_text(self.run, bilm, path, keep_open=keep_open)


def tuned_in(folder: Path, experiments: Path, tasks: Sequence[str], variables: Mapping[str, str]) -> List[str]:
    """
    Return those of the tasks for whose models there are tuned biLMs of the variable BILM in a folder of trainings.

    # Raises

    `CellError` where an experiment cannot be evaluated.
    """
    ours = [one for one in _of_models(_found(experiments)) if one.task in tasks]
    return sorted(one.task for one in ours if outcome.is_evaluated(run_of(one, variables, folder).folder))


def run_of(tuning: Tuning, variables: Mapping[str, str], folder: Path) -> Run:
    """The training that tunes the biLM; `variables` and `folder` as in `Plan`."""
    planned = fingerprint(tuning.config, variables)
    name = f"{FOLDER}-{tuning.config.stem}-{planned}"
    return Run(tuning.config, SEED, folder / name / str(SEED), variables, fingerprint=planned)


def perplexities_of(run: Run, moment: str) -> Path:
    """Where the perplexities before or after a tuning are kept, as `allennlp elmo-perplexity` writes them."""
    return run.folder / f"perplexity_{moment}.json"


def read_perplexities(path: Path) -> Dict[str, Any]:
    """
    Read what `allennlp elmo-perplexity` has written.

    # Raises

    `TrainingError` where the file holds something else.
    """
    try:
        content = outcome.read_object(path)
        names = ("forward", "backward", "mean")
        numbers = [content["perplexity"][name] for name in names]
        numbers += [content[name] for name in ("words", "unknown_words")]
        intervals = dict(content.get("interval") or {})
        for low, high in (intervals[name] for name in names if name in intervals):
            numbers += [low, high]
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ValueError(f"{numbers} instead of numbers")
        if content["words"] <= 0:
            raise ValueError(f"{content['words']} words")
    except (ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{path}: not the perplexities of a text ({error!r}). Remove it, and run again.") from error
    return content


@dataclass(frozen=True)
class TuningPlan(TablePlan):
    """
    What is to be run: each tuning once, and the tasks' models with both biLMs.

    # Parameters

    tunings : of the table.
    seeds : of each task's model; None for those whose trainings are there.
    variables, folder, cache : as in `Plan`.
    """

    tunings: Sequence[Tuning]
    seeds: Optional[Sequence[int]]
    variables: Mapping[str, str]
    folder: Path
    cache: Optional[Path] = None

    @overrides
    def experiments(self) -> List[Tuple[str, Path]]:
        cells = {one.cell.config: one.task for one in self.tunings if one.cell is not None}
        return [(one.task, one.config) for one in self.tunings] + [(task, config) for config, task in cells.items()]

    def run_of(self, tuning: Tuning) -> Run:
        """The training that tunes the biLM."""
        return run_of(tuning, self.variables, self.folder)

    def task_plan(self, tuning: Tuning, moment: str) -> Plan:
        """The trainings of the task's model with the biLM before or after the tuning; none where it has no model."""
        cells = [] if tuning.cell is None else [tuning.cell]
        tuned = {} if moment == BEFORE else {tuning.task: PerplexityJob(self.run_of(tuning))}
        return Plan(cells, self.seeds, self.variables, self.folder, self.cache, tuned)

    @overrides
    def jobs(self) -> List[Job]:
        jobs: List[Job] = [PerplexityJob(self.run_of(tuning)) for tuning in self.tunings]
        for tuning in self.tunings:
            for moment in (BEFORE, AFTER):
                jobs += self.task_plan(tuning, moment).trainings()
        return jobs


def check_bilm(bilm: str) -> None:
    """
    Refuse a biLM that cannot be tuned.

    # Raises

    `CellError` where it comes without a softmax or the words of one.
    """
    from elmo_plugin.formats import read_weights

    weights = read_weights(bilm)
    if weights.softmax is None or weights.vocabulary is None:
        what = "softmax" if weights.softmax is None else "vocabulary"
        raise CellError(
            f"the biLM {bilm} comes without a {what}, and cannot be tuned; expected one with a softmax and the words "
            f"of it. experiments/{FOLDER}/softmax.jsonnet trains one, all else frozen; then give "
            "--bilm FOLDER/model.tar.gz."
        )
