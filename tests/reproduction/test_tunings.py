"""Table 7: what is tuned, what is trained with it, and what becomes of failures."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("allennlp")

from elmo_plugin.formats import read_weights, write_weights
from elmo_plugin.reproduction import training
from elmo_plugin.reproduction.cells import CellError, cells_of
from elmo_plugin.reproduction.outcome import TrainingError
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.running import run_missing
from elmo_plugin.reproduction.tunings import TuningPlan, check_bilm, read_perplexities, tuned_bilms, tunings_of
from tests import tiny
from tests.reproduction.runs import leave_items, leave_result, some_items

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {
    "SCALE": "small",
    "DATA": "data",
    "SST_DATA": "data/sst",
    "VECTORS": "vectors.txt",
    "BILM": "bilm.tar.gz",
    "BILM_DIM": "256",
}


@pytest.fixture
def done(monkeypatch):
    """What was run, in its order: names of trainings with the biLM, and biLMs that scored a text."""
    steps = []

    def train(run, keep_open):
        steps.append((run.name, run.variables["BILM"]))
        shutil.rmtree(run.folder, ignore_errors=True)
        leave_result(run.folder, 0.8)

    def score_text(run, bilm, output, keep_open):
        steps.append((output.stem, bilm))
        output.write_text("{}")

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(training, "score_text", score_text)
    monkeypatch.setattr(
        training, "evaluate", lambda run, split, keep_open: leave_items(run.folder, split, some_items([1]))
    )
    return steps


def plan(folder, tasks=("ner",), seeds=(1, 2), **changes):
    return TuningPlan(tunings_of(EXPERIMENTS, tasks), seeds, VARIABLES, folder, **changes)


def test_tunings_are_found_with_the_papers_perplexities():
    found = tunings_of(EXPERIMENTS)

    assert [(one.task, one.text, one.paper_before, one.paper_after) for one in found] == [
        ("ner", "", 103.2, 46.3),
        ("snli", "", 72.1, 16.8),
        ("squad", "contexts", 99.1, 43.5),
        ("squad", "questions", 158.2, 52.0),
        ("srl", "", 92.3, None),
        ("sst", "", 131.5, 78.6),
    ]
    assert [one.task for one in found if one.cell is not None] == ["ner", "sst"]


def test_wrong_names_and_wrong_places_are_refused(tmp_path):
    assert [one.text for one in tunings_of(EXPERIMENTS, ["squad"])] == ["contexts", "questions"]
    with pytest.raises(CellError, match=r"table7 has no task \['coref'\]; choose from \['ner', 'snli', "):
        tunings_of(EXPERIMENTS, ["ner", "coref"])
    with pytest.raises(CellError, match="finetuning: no experiments"):
        tunings_of(tmp_path)


def test_the_task_is_trained_with_both_bilms(tmp_path, done):
    whole = plan(tmp_path)
    tuned = str(whole.run_of(whole.tunings[0]).folder / "model.tar.gz")

    assert run_missing(whole.jobs(), print) == []

    assert done == [
        ("finetuning/ner, seed 1", "bilm.tar.gz"),
        ("perplexity_before", "bilm.tar.gz"),
        ("perplexity_after", tuned),
        ("finetuning/ner_task, seed 1", "bilm.tar.gz"),
        ("finetuning/ner_task, seed 2", "bilm.tar.gz"),
        ("finetuning/ner_task, tuned, seed 1", tuned),
        ("finetuning/ner_task, tuned, seed 2", tuned),
    ]
    run_missing(whole.jobs(), print)
    assert len(done) == 7


def test_what_was_cut_off_is_scored_without_a_training(tmp_path, done):
    whole = plan(tmp_path, ["snli"])
    run_missing(whole.jobs(), print)
    (whole.run_of(whole.tunings[0]).folder / "perplexity_after.json").unlink()

    run_missing(whole.jobs(), print)

    assert [name for name, _ in done] == [
        "finetuning/snli, seed 1",
        "perplexity_before",
        "perplexity_after",
        "perplexity_after",
    ]


def test_a_tuning_that_fails_stops_only_what_needs_it(tmp_path, done, monkeypatch):
    leave = training.train

    def train(run, keep_open):
        if run.config.stem == "ner":
            raise TrainingError("allennlp train ended with code 1")
        leave(run, keep_open)

    monkeypatch.setattr(training, "train", train)
    failures = run_missing(plan(tmp_path, ["ner", "sst"], seeds=[1]).jobs(), print)

    assert failures[0] == "finetuning/ner, seed 1: allennlp train ended with code 1"
    assert failures[1].startswith(f"finetuning/ner_task, tuned, seed 1: needs {tmp_path}/finetuning-ner-")
    assert len(failures) == 2
    assert [name for name, _ in done if not name.startswith("perplexity")] == [
        "finetuning/sst, seed 1",
        "finetuning/ner_task, seed 1",
        "finetuning/sst_task, seed 1",
        "finetuning/sst_task, tuned, seed 1",
    ]


def test_the_task_with_the_untuned_bilm_is_the_training_of_table_1(tmp_path):
    whole = plan(tmp_path)
    (elmo,) = [cell for cell in cells_of("table1", EXPERIMENTS, ["ner"]) if not cell.is_baseline]
    table1 = Plan([elmo], (1, 2), VARIABLES, tmp_path)

    ours = whole.task_plan(whole.tunings[0], "before").trainings()
    assert [job.run.folder for job in ours] == [run.folder for run in table1.runs_of(elmo)]
    tuned = whole.task_plan(whole.tunings[0], "after").trainings()
    assert not {job.run.folder for job in ours} & {job.run.folder for job in tuned}
    table1 = Plan([elmo], (1, 2), VARIABLES, tmp_path, tuned=tuned_bilms(EXPERIMENTS, ["ner"], VARIABLES, tmp_path))
    assert [job.run.folder for job in tuned] == [run.folder for run in table1.runs_of(elmo)]


def tuned_plan(folder, table="table3", tasks=("snli",), seeds=(1,)):
    bilms = tuned_bilms(EXPERIMENTS, list(tasks), VARIABLES, folder)
    return Plan(cells_of(table, EXPERIMENTS, ["snli", "srl"]), seeds, VARIABLES, folder, tuned=bilms)


def test_a_table_of_tasks_with_a_tuned_bilm(tmp_path, done):
    """The biLM is tuned first, once for all cells of its task; another task has it as it is, a baseline has none."""
    whole = tuned_plan(tmp_path, "table2")
    tuned = str(whole.tuned["snli"].run.folder / "model.tar.gz")

    assert run_missing(whole.jobs(), print) == []

    assert done[:3] == [
        ("finetuning/snli, seed 1", "bilm.tar.gz"),
        ("perplexity_before", "bilm.tar.gz"),
        ("perplexity_after", tuned),
    ]
    of_snli, of_srl = ({name: bilm for name, bilm in done[3:] if task in name} for task in ("snli", "srl"))
    assert set(of_srl.values()) == {"bilm.tar.gz"} and len(of_srl) == len(of_snli) == 4
    assert of_snli.pop("table2/snli_baseline, seed 1") == "bilm.tar.gz"
    assert set(of_snli.values()) == {tuned}
    assert ("snli", EXPERIMENTS / "finetuning" / "snli.jsonnet") in whole.experiments()


def test_names_of_trainings_with_a_tuned_bilm_hold_no_path(tmp_path):
    """And differ from those with the biLM as it is, but for the baseline's."""
    here, there, untuned = (
        tuned_plan(tmp_path / name, "table1", tasks)
        for name, tasks in (("a", ["snli"]), ("b", ["snli"]), ("a", ["srl"]))
    )
    names = [[plan.runs_of(cell)[0].folder.parent.name for cell in plan.cells[:2]] for plan in (here, there, untuned)]

    assert names[0] == names[1] != names[2]
    assert names[0][0] == names[2][0] and names[0][1] != names[2][1]


def test_a_tuning_of_no_cell_is_not_run(tmp_path):
    assert [job.run.config.parent.name for job in tuned_plan(tmp_path, tasks=["ner"]).jobs()] == ["table3"] * 6
    baseline = Plan(
        [cell for cell in cells_of("table1", EXPERIMENTS, ["snli"]) if cell.is_baseline],
        (1,),
        VARIABLES,
        tmp_path,
        tuned=tuned_bilms(EXPERIMENTS, ["snli"], VARIABLES, tmp_path),
    )
    assert [job.run.config.stem for job in baseline.jobs()] == ["snli_baseline"]


def test_questions_have_the_bilm_that_is_tuned_on_their_paragraphs(tmp_path):
    tuned = tuned_bilms(EXPERIMENTS, ["squad", "ner"], VARIABLES, tmp_path)
    assert {task: job.run.config.stem for task, job in tuned.items()} == {"ner": "ner", "squad": "squad_contexts"}
    with pytest.raises(CellError, match="no task .'coref'."):
        tuned_bilms(EXPERIMENTS, ["coref"], VARIABLES, tmp_path)
    assert tuned_bilms(EXPERIMENTS, [], VARIABLES, tmp_path) == {}


def test_texts_of_which_none_is_for_the_model_are_refused(tmp_path):
    (tmp_path / "finetuning").mkdir()
    first = "// Table 7 of the supplement, CoNLL 2012: perplexity 92.3 before in the paper, and no gain."
    (tmp_path / "finetuning" / "coref_dialogues.jsonnet").write_text(first)
    with pytest.raises(CellError, match="no experiment tunes the biLM for the model of .'coref'."):
        tuned_bilms(tmp_path, ["coref"], VARIABLES, tmp_path)


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_tuned_bilm_whose_weights_are_gone_is_tuned_again_where_it_is_needed(is_damaged, tmp_path, done):
    """As where its records alone were copied: for another seed, and not for what is finished or only to be scored."""
    first = tuned_plan(tmp_path)
    run_missing(first.jobs(), print)
    archive = first.tuned["snli"].run.folder / "model.tar.gz"
    if is_damaged:
        archive.write_bytes(b"")
    else:
        archive.unlink()
    before = len(done)
    assert run_missing(first.jobs(), print) == [] and len(done) == before
    scored = first.trainings()[0].leaves[0]
    scored.unlink()
    assert run_missing(first.jobs(), print) == [] and len(done) == before and scored.exists()

    assert run_missing(tuned_plan(tmp_path, seeds=(1, 2)).jobs(), print) == []

    steps = [name for name, _ in done[before:]]
    assert steps[:3] == ["finetuning/snli, seed 1", "perplexity_before", "perplexity_after"]
    assert len(steps) == 3 + 6 and all(name.endswith("seed 2") for name in steps[3:])


def test_what_is_only_to_be_scored_waits_for_no_tuning(tmp_path, done, monkeypatch):
    """Though another seed needs it, and it fails."""
    run_missing(tuned_plan(tmp_path).jobs(), print)
    (tuned_plan(tmp_path).tuned["snli"].run.folder / "model.tar.gz").unlink()
    scored = tuned_plan(tmp_path).trainings()[0].leaves[0]
    scored.unlink()

    def train(run, keep_open):
        raise TrainingError("allennlp train ended with code 1")

    monkeypatch.setattr(training, "train", train)
    failures = run_missing(tuned_plan(tmp_path, seeds=(1, 2)).jobs(), print)

    assert scored.exists() and len(failures) == 1 + 6


def test_the_cache_is_for_the_task_alone(tmp_path):
    jobs = plan(tmp_path, seeds=[1], cache=tmp_path / "cache").jobs()

    assert [str(tmp_path / "cache") in json.dumps(job.run.overrides) for job in jobs] == [False, True, True]


def test_a_bilm_without_a_softmax_or_its_words_is_refused(tmp_path):
    tiny.write(tmp_path / "bilm")
    found = read_weights(tmp_path / "bilm")
    with pytest.raises(CellError, match=r"bilm comes without a softmax, .*softmax.jsonnet trains one"):
        check_bilm(str(tmp_path / "bilm"))
    softmax = {"weight": torch.zeros(4, found.options.lstm.projection_dim), "bias": torch.zeros(4)}
    write_weights(replace(found, softmax=softmax), tmp_path / "wordless.safetensors")
    with pytest.raises(CellError, match="wordless.safetensors comes without a vocabulary"):
        check_bilm(str(tmp_path / "wordless.safetensors"))
    write_weights(
        replace(found, softmax=softmax, vocabulary=["<S>", "</S>", "<UNK>", "a"]), tmp_path / "whole.safetensors"
    )
    check_bilm(str(tmp_path / "whole.safetensors"))


@pytest.mark.parametrize(
    "changes",
    [
        {"words": 0},
        {"words": True},
        {"words": None},
        {"unknown_words": float("nan")},
        {"perplexity": {"forward": 1.0, "backward": 1.0}},
        {"interval": [1.0]},
        {"interval": {"mean": [1.0]}},
        {"interval": {"mean": [1.0, None]}},
    ],
    ids=str,
)
def test_perplexities_that_are_damaged_are_refused(changes, tmp_path):
    numbers = {"forward": 1.5, "backward": 2.5, "mean": 2.0}
    whole = {"perplexity": numbers, "words": 3, "unknown_words": 1, "interval": {"mean": [1.5, 2.5]}}
    path = tmp_path / "perplexity_before.json"
    path.write_text(json.dumps(whole))
    assert read_perplexities(path) == whole

    path.write_text(json.dumps({**whole, **changes}))
    with pytest.raises(TrainingError, match="not the perplexities of a text"):
        read_perplexities(path)
