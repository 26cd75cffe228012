"""What there is for a table, for people."""

from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.data_sets import Needs, Problem
from elmo_plugin.reproduction.survey import survey
from elmo_plugin.reproduction.tunings import TuningPlan, tunings_of
from tests.reproduction.runs import leave_items, leave_result, some_items

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "d", "SST_DATA": "d", "VECTORS": "v", "BILM": "builtin", "BILM_DIM": "256"}


def test_seeds_with_either_bilm(tmp_path: Path) -> None:
    """Table 7 trains an experiment with the biLM as it is and with the tuned one."""
    plan = TuningPlan(tunings_of(EXPERIMENTS, ["ner"]), (2, 1), VARIABLES, tmp_path)
    for job in plan.jobs()[1:4]:
        leave_result(job.run.folder, 0.5)
        leave_items(job.run.folder, "test", some_items([1]))

    lines = survey(plan, Needs({"ner": [Problem("data", "x", is_absent=False)]}, {"ner": ["https://a"]}))

    tuning, task = (EXPERIMENTS / "finetuning" / name for name in ("ner.jsonnet", "ner_task.jsonnet"))
    assert lines == [
        "ner: to correct: data",
        "  fetched when a training needs it: https://a",
        f"  {tuning.as_posix()}",
        f"  {task.as_posix()} (done: seeds 1, 2; 2 with the tuned biLM)",
    ]


def test_what_is_missing_is_said_before_what_is_wrong(tmp_path: Path) -> None:
    plan = TuningPlan(tunings_of(EXPERIMENTS, ["ner"]), None, VARIABLES, tmp_path)
    problems = [Problem("data", "x", is_absent=False), Problem("word vectors", "y"), Problem("program", "z")]

    assert survey(plan, Needs({"ner": problems}, {}))[0] == "ner: missing: word vectors, program"
    assert survey(plan, Needs({}, {}))[0] == "ner: all is there"
