"""Perplexities and scores before and after the tuning of the biLM, beside the paper's, as a sheet."""

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from elmo_plugin.benchmark.machine import short
from elmo_plugin.reproduction import outcome
from elmo_plugin.reproduction.comparison import Comparison, against
from elmo_plugin.reproduction.outcome import Result, TrainingError
from elmo_plugin.reproduction.results import Row, collect, remarks_of
from elmo_plugin.reproduction.score_sheet import p_text
from elmo_plugin.reproduction.sheet import Sheet
from elmo_plugin.reproduction.training import Run
from elmo_plugin.reproduction.tunings import AFTER, BEFORE, SEED, Tuning, TuningPlan, perplexities_of, read_perplexities

MOMENTS = (BEFORE, AFTER)
LEGEND = (
    "text: of the task; words, unknown: of its development text, and how many of them the softmax does not "
    "know; before, after: the perplexity of the biLM as it is and tuned, with those of both directions; paper "
    "before, paper after: of Peters et al. (2018); score: of the task's model, on this part of the data; "
    "untuned, tuned: what it is with both biLMs, percent, mean ± standard deviation over seeds; gain: in "
    "points; p: that the two do not differ, over the items' texts; minutes: of the tuning; commit: of this package."
)
COLUMNS = (
    "task",
    "text",
    "words",
    "unknown",
    "before",
    "after",
    "paper before",
    "paper after",
    "score",
    "untuned",
    "tuned",
    "seeds",
    "gain",
    "p",
    "minutes",
    "commit",
)


@dataclass(frozen=True)
class TuningRow:
    """
    A tuning with what was measured.

    # Parameters

    tuning : of the table.
    perplexities : by moment ("before", "after") what `allennlp elmo-perplexity` wrote, as far as it did.
    seconds : of the tuning; None where it is not finished.
    commits : of the package in all trainings of the row.
    scores : by moment what the task's models scored; empty where the task has none.
    remarks : what to know about the tuning before its numbers are believed.
    """

    tuning: Tuning
    perplexities: Dict[str, Dict[str, Any]]
    seconds: Optional[float]
    commits: Sequence[str]
    scores: Dict[str, Row]
    remarks: Sequence[str] = ()

    @property
    def task(self) -> str:
        """Of the tuning."""
        return self.tuning.task


def collect_tunings(plan: TuningPlan) -> List[TuningRow]:
    """Read the results of what is finished."""
    rows = []
    for tuning in plan.tunings:
        run = plan.run_of(tuning)
        result, perplexities, remarks = _results(run)
        scores = {moment: row for moment in MOMENTS for row in collect(plan.task_plan(tuning, moment))}
        commits = {commit for row in scores.values() for commit in row.commits}
        commits.update([] if result is None else result.commits)
        seconds = None if result is None else result.seconds
        rows.append(TuningRow(tuning, perplexities, seconds, sorted(commits), scores, remarks))
    return rows


def _results(run: Run) -> Tuple[Optional[Result], Dict[str, Dict[str, Any]], Sequence[str]]:
    """What a tuning has left, the perplexities by moment, and what to know about them."""
    if not outcome.is_evaluated(run.folder):
        return None, {}, ()
    try:
        result = outcome.collect(run.folder)
        paths = {moment: perplexities_of(run, moment) for moment in MOMENTS}
        perplexities = {moment: read_perplexities(path) for moment, path in paths.items() if path.exists()}
    except TrainingError as error:
        return None, {}, [f"{run.name}: {error}"]
    return result, perplexities, remarks_of([(run, result)])


def tuning_sheet(title: str, rows: Sequence[TuningRow], bilm: str) -> Sheet:
    """
    Set the tunings, one a line.

    Words and unknown ones (in percent) are those of the development text. A perplexity is that of the mean of both
    directions, with those of forward and backward behind it. The gain is in points, of the seeds that both have, whose
    number is told; p is that of `paired_p_value`.
    """
    compared = [against(row.scores[BEFORE], row.scores[AFTER]) if row.scores else None for row in rows]
    records = [record(row, of_row, bilm) for row, of_row in zip(rows, compared)]
    lines = [texts(*both) for both in zip(rows, records)]
    remarks: List[str] = []
    for row, of_row in zip(rows, compared):
        remarks += row.remarks
        remarks += [remark for of_task in row.scores.values() for remark in of_task.remarks]
        remarks += of_row.remarks if of_row else []
    return Sheet(title, COLUMNS, lines, records, texts=2, remarks=remarks, legend=LEGEND)


def texts(row: TuningRow, numbers: Mapping[str, Any]) -> List[str]:
    """Return a line for people, in the order of `COLUMNS`, from that for programs."""
    words = numbers["words"]
    return [
        row.tuning.task,
        numbers["text"],
        "" if words is None else f"{words:,}",
        "" if words is None else f"{100 * numbers['unknown_words'] / words:.1f}%",
        *(_perplexity(row, moment) for moment in MOMENTS),
        *("" if value is None else f"{value:.1f}" for value in (row.tuning.paper_before, row.tuning.paper_after)),
        _score_name(row),
        *(str(row.scores[moment].score or "") if moment in row.scores else "" for moment in MOMENTS),
        str(numbers["seeds"] or ""),
        "" if numbers["gain"] is None else f"{numbers['gain']:+.1f}",
        p_text(numbers["p_value"]),
        "" if row.seconds is None else f"{row.seconds / 60:.1f}",
        ", ".join(map(short, row.commits)),
    ]


def record(row: TuningRow, compared: Optional[Comparison], bilm: str) -> Dict[str, Any]:
    """
    Return a line for programs: scores in percent, None where nothing is known.

    # Parameters

    compared : the task's models with the tuned biLM beside those with the untuned one; None where it has none.
    """
    tuning, scores = row.tuning, {moment: one.score for moment, one in row.scores.items()}
    known: Dict[str, Any] = {"task": tuning.task, "text": tuning.text or "all", "words": None, "unknown_words": None}
    for moment in MOMENTS:
        found = row.perplexities.get(moment, {})
        known.update({name: found[name] for name in ("words", "unknown_words") if name in found})
        for name in ("forward", "backward", "mean"):
            low, high = (found.get("interval") or {}).get(name, (None, None))
            known[f"{name}_{moment}"] = found["perplexity"][name] if found else None
            known.update({f"{name}_{moment}_low": low, f"{name}_{moment}_high": high})
    known.update(paper_before=tuning.paper_before, paper_after=tuning.paper_after, tuning_seed=SEED)
    for moment, name in zip(MOMENTS, ("untuned", "tuned")):
        score = scores.get(moment)
        known[name] = None if score is None else score.mean
        known[f"{name}_deviation"] = None if score is None or math.isnan(score.deviation) else score.deviation
    known["seeds"] = len(compared.seeds) if compared else 0
    known["gain"] = compared.ours.absolute if compared and compared.ours else None
    known["p_value"] = compared.p_value if compared else None
    return {**known, "seconds": row.seconds, "commit": " ".join(row.commits), "bilm": bilm}


def _score_name(row: TuningRow) -> str:
    """The part and the score of the task's model, as far as they are known."""
    if row.tuning.cell is None:
        return ""
    items = [of_run for one in row.scores.values() for of_run in one.items.values()]
    return " ".join([row.tuning.cell.split, *(of_run.score for of_run in items[:1])])


def _perplexity(row: TuningRow, moment: str) -> str:
    if moment not in row.perplexities:
        return ""
    found = row.perplexities[moment]["perplexity"]
    return f"{found['mean']:.1f} ({found['forward']:.1f}, {found['backward']:.1f})"
