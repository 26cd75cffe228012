"""Table 7 for people and for programs."""

import json
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.tuning_sheet import COLUMNS, TuningRow, collect_tunings, tuning_sheet
from elmo_plugin.reproduction.tunings import Tuning, TuningPlan
from tests.reproduction.runs import leave_items, leave_result, some_items

CELL = Cell(Path("ner_task.jsonnet"), "ner", "task", "test")
NER = Tuning(Path("ner.jsonnet"), "ner", "", 103.2, 46.3, CELL)
SRL = Tuning(Path("srl.jsonnet"), "srl", "", 92.3)
CONTEXTS = Tuning(Path("squad_contexts.jsonnet"), "squad", "contexts", 99.1, 43.5)


def scored(mean, interval=True):
    numbers = {"forward": mean - 1, "backward": mean + 1, "mean": mean}
    bounds = {name: [value - 5, value + 5] for name, value in numbers.items()}
    return {"perplexity": numbers, "interval": bounds if interval else None, "words": 2000, "unknown_words": 30}


def test_table_without_any_result_shows_the_paper():
    rows = [TuningRow(one, {}, None, [], {}) for one in (NER, SRL, CONTEXTS)]
    sheet = tuning_sheet("A title", rows, "bilm")

    empty = dict.fromkeys(COLUMNS, "")
    assert [dict(zip(COLUMNS, row)) for row in sheet.rows] == [
        {**empty, "task": "ner", "text": "all", "paper before": "103.2", "paper after": "46.3", "score": "test"},
        {**empty, "task": "srl", "text": "all", "paper before": "92.3"},
        {**empty, "task": "squad", "text": "contexts", "paper before": "99.1", "paper after": "43.5"},
    ]
    assert sheet.records[1]["paper_after"] is None and sheet.records[1]["mean_before"] is None


def test_table_with_results():
    wrong, right = ({1: some_items(values)} for values in ([0] * 14, [1] * 14))
    scores = {
        "before": Row(CELL, {1: 0.80, 2: 0.82}, 60.0, ["a"], wrong),
        "after": Row(CELL, {1: 0.84}, 60.0, ["a"], right),
    }
    found = {"before": scored(150.0), "after": scored(60.25)}
    sheet = tuning_sheet("A title", [TuningRow(NER, found, 90.0, ["0123456789ab-dirty"], scores)], "bilm")

    assert sheet.rows[0][2:] == [
        "2,000",
        "1.5%",
        "150.0 (149.0, 151.0)",
        "60.2 (59.2, 61.2)",
        "103.2",
        "46.3",
        "test accuracy",
        "81.0 ± 1.4",
        "84.0",
        "1",
        "+4.0",
        "<0.001",
        "1.5",
        "012345678-dirty",
    ]
    (numbers,) = sheet.records
    assert (numbers["forward_before"], numbers["mean_after_low"], numbers["mean_after_high"]) == (149.0, 55.25, 65.25)
    assert (numbers["untuned"], numbers["gain"], numbers["seeds"]) == (pytest.approx(81), pytest.approx(4), 1)
    assert numbers["untuned_deviation"] == pytest.approx(2**0.5) and numbers["tuned_deviation"] is None
    assert (numbers["tuning_seed"], numbers["seconds"], numbers["bilm"]) == (1, 90.0, "bilm")


@pytest.mark.parametrize(
    "before,after,seeds,told",
    [
        ({1: 0.80, 2: 0.82}, {2: 0.84, 3: 0.84}, 1, ["the gain is of seed 2 alone", "no p: not all items are scored"]),
        # 14 items against 13
        ({1: 0.80}, {1: 0.84}, 1, ["the data have changed between the two"]),
    ],
)
def test_what_the_gain_and_p_are_of_is_said(before, after, seeds, told):
    items = {1: some_items([0] * 14)} if after.keys() == before.keys() else {}
    scores = {
        "before": Row(CELL, before, 60.0, ["a"], items),
        "after": Row(CELL, after, 60.0, ["a"], {seed: some_items([1] * 13) for seed in items}),
    }
    sheet = tuning_sheet("A title", [TuningRow(NER, {}, 90.0, ["a"], scores)], "bilm")

    assert sheet.records[0]["seeds"] == seeds and sheet.records[0]["p_value"] is None
    assert len(sheet.remarks) == len(told) and all(text in found for text, found in zip(told, sheet.remarks))


def test_a_single_sentence_has_no_interval():
    sheet = tuning_sheet("A title", [TuningRow(SRL, {"before": scored(9.0, interval=False)}, None, [], {})], "bilm")

    assert sheet.rows[0][4:6] == ["9.0 (8.0, 10.0)", ""]
    assert sheet.records[0]["mean_before_low"] is None


def test_what_is_finished_is_collected(tmp_path):
    """From a real experiment's folders: both perplexities, and the task with the untuned biLM alone."""
    from elmo_plugin.reproduction.tunings import tunings_of

    experiments = Path(__file__).parent.parent.parent / "experiments"
    variables = {"SCALE": "small", "DATA": "", "SST_DATA": "", "VECTORS": "", "BILM": "b.th", "BILM_DIM": "256"}
    plan = TuningPlan(tunings_of(experiments, ["ner", "srl"]), (1, 2), variables, tmp_path)
    ner, srl = plan.tunings
    run = plan.run_of(ner)
    leave_result(run.folder, 0.0, seconds=75.0, commit="b")
    for moment, mean in (("before", 8.0), ("after", 4.0)):
        (run.folder / f"perplexity_{moment}.json").write_text(json.dumps(scored(mean)))
    first = plan.task_plan(ner, "before").trainings()[0].run
    leave_result(first.folder, 0.5, commit="a")
    leave_items(first.folder, "test", some_items([1, 0]))

    of_ner, of_srl = collect_tunings(plan)

    assert {moment: found["perplexity"]["mean"] for moment, found in of_ner.perplexities.items()} == {
        "before": 8.0,
        "after": 4.0,
    }
    assert (of_ner.seconds, of_ner.commits) == (pytest.approx(75), ["a", "b"])
    assert (of_ner.scores["before"].found, of_ner.scores["after"].found) == ({1: 0.5}, {})
    assert of_srl == TuningRow(srl, {}, None, [], {})


@pytest.mark.parametrize(
    "name,content",
    [
        ("metrics.json", '{"trai'),
        ("perplexity_before.json", ""),
        ("perplexity_before.json", "[]"),
        ("perplexity_after.json", '{"perplexity": {"mean": 3}}'),
        ("perplexity_after.json", '{"perplexity": null}'),
    ],
)
def test_a_broken_file_leaves_the_rest_of_the_table(name, content, tmp_path):
    from elmo_plugin.reproduction.tunings import tunings_of

    experiments = Path(__file__).parent.parent.parent / "experiments"
    variables = {"SCALE": "small", "DATA": "", "SST_DATA": "", "VECTORS": "", "BILM": "b.th", "BILM_DIM": "256"}
    plan = TuningPlan(tunings_of(experiments, ["ner", "srl"]), (1,), variables, tmp_path)
    for tuning in plan.tunings:
        run = plan.run_of(tuning)
        leave_result(run.folder, 0.0, epochs=(0, 0))
        for moment in ("before", "after"):
            (run.folder / f"perplexity_{moment}.json").write_text(json.dumps(scored(8.0)))
    (plan.run_of(plan.tunings[0]).folder / name).write_text(content)

    ner, srl = collect_tunings(plan)

    (remark,) = ner.remarks
    told = "not the results of a training" if name == "metrics.json" else f"{name}: not the perplexities of a text"
    assert ner.perplexities == {} and told in remark and "Remove it, and run again" in remark
    assert srl.perplexities["before"]["perplexity"]["mean"] == 8.0 and srl.remarks == []
    assert tuning_sheet("title", [ner, srl], "b.th").remarks == list(ner.remarks)


def test_what_was_tuned_on_other_data_is_named(tmp_path):
    from elmo_plugin.reproduction.tunings import tunings_of
    from tests import task_data

    task_data.write(tmp_path / "data")
    experiments = Path(__file__).parent.parent.parent / "experiments"
    data = str(tmp_path / "data")
    variables = {"SCALE": "small", "DATA": data, "SST_DATA": "", "VECTORS": "", "BILM": "builtin", "BILM_DIM": "256"}
    plan = TuningPlan(tunings_of(experiments, ["ner"]), (1,), variables, tmp_path / "runs")
    leave_result(plan.run_of(plan.tunings[0]).folder, 0.0, inputs={"data": "others"})

    tuned = plan.task_plan(plan.tunings[0], "after").trainings()[0].run
    leave_result(tuned.folder, 0.5)

    (row,) = collect_tunings(plan)

    told = "finetuning/ner, seed 1: data have changed since. To train again remove"
    assert row.remarks[0].startswith(told)
    # with the task's training too, and still once below the table
    assert row.scores["after"].remarks[0].startswith(told)
    assert sum(remark.startswith(told) for remark in tuning_sheet("title", [row], "b.th").below()) == 1
