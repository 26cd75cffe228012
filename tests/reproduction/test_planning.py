"""From what is asked for to what is to be run."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.formats import pretrained, read_options
from elmo_plugin.reproduction import outcome
from elmo_plugin.reproduction.cells import CellError
from elmo_plugin.reproduction.plan import Plan
from elmo_plugin.reproduction.planning import Request
from elmo_plugin.reproduction.tunings import TuningPlan
from tests import task_data, tiny
from tests.reproduction.runs import leave_result

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"


@pytest.fixture
def request_(tmp_path):
    """For table 1, on data that are there."""
    task_data.write(tmp_path)
    named = {"data": str(tmp_path), "trees": str(tmp_path / "sst"), "vectors": str(tmp_path / "vectors.txt")}
    return Request("table1", "small", EXPERIMENTS, tmp_path / "runs", "builtin", **named)


def test_variables(request_, tmp_path):
    """The width of the biLM's vectors is among them where its name does not say it, or another takes its place."""
    tiny.write(tmp_path / "tiny")
    variables = request_.variables()

    assert variables == {
        "SCALE": "small",
        "DATA": str(tmp_path),
        "SST_DATA": str(tmp_path / "sst"),
        "BILM": "builtin",
        "VECTORS": str(tmp_path / "vectors.txt"),
    }
    assert replace(request_, tuned=["snli"]).variables() == {**variables, "BILM_DIM": "256"}
    assert replace(request_, table="table7").variables() == {**variables, "BILM_DIM": "256"}
    bilm = str(tmp_path / "tiny")
    assert replace(request_, bilm=bilm).variables() == {
        **variables,
        "BILM": bilm,
        "BILM_DIM": str(2 * read_options(bilm)[0].lstm.projection_dim),
    }


def test_plans(request_):
    plan = request_.plan((1, 2), ["ner"])
    assert isinstance(plan, Plan) and plan.folder == request_.folder
    assert [job.run.name for job in plan.jobs()] == [
        f"table1/ner_{kind}, seed {seed}" for kind in ("baseline", "elmo") for seed in (1, 2)
    ]

    tuned = replace(request_, tuned=["sst"]).plan([1], ["ner", "sst"])
    assert [job.run.name for job in tuned.jobs()] == [
        "finetuning/sst, seed 1",
        "table1/ner_baseline, seed 1",
        "table1/ner_elmo, seed 1",
        "table1/sst_baseline, seed 1",
        "table1/sst_elmo, tuned, seed 1",
    ]

    of_tunings = replace(request_, table="table7").plan([1], ["srl"])
    assert isinstance(of_tunings, TuningPlan)
    assert [job.run.name for job in of_tunings.jobs()] == ["finetuning/srl, seed 1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "table7", "tuned": ["sst"]}, "--tuned is for the other tables"),
        ({"table": "figure1", "tuned": ["snli"]}, "--tuned is not for figure1"),
        ({"tuned": ["sst", "pos"]}, "--tuned sst,pos: table1 has no task"),
        ({"table": "table9"}, "no experiments"),
    ],
)
def test_what_cannot_be_planned_is_refused(changes, message, request_):
    with pytest.raises(CellError, match=message):
        replace(request_, **changes).plan(None, None)


def test_a_bilm_that_is_not_there_is_named(request_):
    with pytest.raises(EngineError, match="nothing.safetensors"):
        replace(request_, bilm="nothing.safetensors").plan(None, None)


def test_a_bilm_without_a_softmax_is_refused_where_it_is_to_be_tuned(request_, tmp_path):
    tiny.write(tmp_path / "tiny")
    other = replace(request_, bilm=str(tmp_path / "tiny"))

    other.check_bilm()
    with pytest.raises(CellError, match="comes without a softmax"):
        replace(other, tuned=["sst"]).check_bilm()


def test_what_is_missing(request_, tmp_path):
    plan = request_.plan(None, ["ner", "sst"])
    assert request_.explain(request_.needs(plan)) == ""

    (tmp_path / "ner" / "wikigold" / "dev.txt").unlink()
    said = request_.explain(request_.needs(plan))
    assert said.startswith(f"ner: missing\n  {tmp_path}/ner/wikigold/dev.txt\nThese are open data")
    assert repr(str(tmp_path)) in said and "vectors" not in said


def test_word_vectors_that_are_missing_are_made_by_a_command(request_, tmp_path):
    (tmp_path / "vectors.txt").unlink()
    said = request_.explain(request_.needs(request_.plan(None, ["ner", "sst"])))

    made = f"allennlp elmo-tables vectors '{tmp_path}/lm/train-*.txt.gz' -o {tmp_path}/vectors.txt"
    assert said == f"ner, sst: missing\n  {tmp_path}/vectors.txt\nThe word vectors are made by: {made}"


def test_what_is_done_needs_no_data(request_, tmp_path):
    request_ = replace(request_, tuned=["sst"], trees=str(tmp_path / "trees"))
    plan = request_.plan([1], ["ner", "sst"])
    jobs = {job.run.name: job for job in plan.jobs()}
    for name, job in jobs.items():
        if "sst" in name:
            leave_result(job.run.folder, 0.5)
            for leaf in job.leaves:
                leaf.write_text("{}")
    shutil.rmtree(tmp_path / "sst")

    assert not request_.needs(plan, all_of_it=False).problems
    assert set(request_.needs(plan).problems) == {"sst"}

    # A biLM whose weights are gone is tuned again, on the trees, for a model that is not there.
    shutil.rmtree(jobs["table1/sst_elmo, tuned, seed 1"].run.folder)
    needed = {problem.text for problem in request_.needs(plan, all_of_it=False).problems["sst"]}
    assert f"{tmp_path}/sst/test.txt" in needed and f"{tmp_path}/trees/train.txt" not in needed
    (jobs["finetuning/sst, seed 1"].run.folder / outcome.ARCHIVE).unlink()
    needed = {problem.text for problem in request_.needs(plan, all_of_it=False).problems["sst"]}
    assert f"{tmp_path}/trees/train.txt" in needed


def test_what_is_to_be_corrected_is_not_called_missing(request_, tmp_path, monkeypatch):
    """And no one is told where to get it."""
    (tmp_path / "ner" / "wikigold" / "dev.txt").write_text("Bonn\n")
    (tmp_path / "vectors.txt").write_text(task_data.vectors(50))
    monkeypatch.setenv("PATH", str(tmp_path))
    said = request_.explain(request_.needs(request_.plan(None, ["ner", "srl"])))

    assert said.splitlines() == [
        "ner: to correct",
        f"  {tmp_path}/ner/wikigold/dev.txt (1 line is not a word with three tags; line 1: 'Bonn')",
        "ner, srl: to correct",
        f"  {tmp_path}/vectors.txt (vectors of 50 numbers, expected 100)",
        "srl: missing",
        "  the program perl, which runs the official script srl-eval.pl",
    ]


def test_what_is_fetched_is_named_by_its_address(request_):
    needs = replace(request_, scale="paper", bilm="builtin").needs(request_.plan(None, ["ner"]))
    assert not needs.fetched

    of_paper = replace(request_, scale="paper", bilm="original")
    fetched = of_paper.needs(of_paper.plan(None, ["ner", "sst"])).fetched
    bilm = pretrained.addresses("original")
    assert len(bilm) == 2 and fetched["ner"] == bilm
    names = {address.rsplit("/", 1)[1] for address in fetched["sst"] if address not in bilm}
    assert names == {"train.txt", "dev.txt", "test.txt", "glove.840B.300d.txt.gz"} and set(bilm) < set(fetched["sst"])


def test_a_link_that_leads_nowhere_is_missing(request_, tmp_path):
    (tmp_path / "coref" / "ontogum_open" / "test_01.gold_conll").symlink_to(tmp_path / "nowhere")

    (problem,) = request_.needs(request_.plan(None, ["coref"])).problems["coref"]
    assert problem.text == f"{tmp_path}/coref/ontogum_open/test_01.gold_conll (a link that leads nowhere)"
    assert problem.is_absent
