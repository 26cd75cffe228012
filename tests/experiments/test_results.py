"""The published tables are made of the published records, and these are of the experiments as they are now."""

import csv
import json
import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

pytest.importorskip("allennlp")

from allennlp.commands import main  # noqa: E402

from elmo_plugin.reproduction import tunings  # noqa: E402
from elmo_plugin.reproduction.cells import PLACES, TABLES, cells_of  # noqa: E402
from elmo_plugin.reproduction.named import named_in  # noqa: E402
from elmo_plugin.reproduction.plan import Plan  # noqa: E402
from elmo_plugin.reproduction.score_sheet import p_text  # noqa: E402

ROOT = Path(__file__).parent.parent.parent
EXPERIMENTS = ROOT / "experiments"
RECORDS = EXPERIMENTS / "results" / "small"
EXPLAINED = ROOT / "docs" / "experiments.md"
PUBLISHED = sorted(RECORDS.glob("*.csv"))
assert PUBLISHED, RECORDS
VARIABLES = {"SCALE": "small", "DATA": "d", "SST_DATA": "s", "VECTORS": "v", "BILM": "builtin"}
#: which biLMs are tuned in the tables
TUNED = ["snli", "squad", "sst"]


def named(path: Path) -> Tuple[str, List[str]]:
    """The table of a file, and the tasks for which the biLM is tuned."""
    table, *tuned = path.stem.split("-")
    return table, tuned[1:]


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_table_is_made_of_the_records(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last digit; an experiment that was changed has no records. The data of this machine are not looked at."""
    table, tuned = named(path)
    (tmp_path / "small").mkdir()
    for folder in RECORDS.iterdir():
        if folder.is_dir():
            (tmp_path / "small" / folder.name).symlink_to(folder, target_is_directory=True)
    monkeypatch.chdir(EXPERIMENTS.parent)
    for name in ("DATA", "BILM", "VECTORS", "SST_DATA"):
        monkeypatch.delenv(name, raising=False)
    nowhere = str(tmp_path / "nothing")
    arguments = ["show", table, "--runs", str(tmp_path), "--to", str(tmp_path), "--data", nowhere, "--vectors", nowhere]
    arguments += ["--tuned", ",".join(tuned)] if tuned else []
    monkeypatch.setattr("sys.argv", ["allennlp", "elmo-tables", *arguments])

    main(prog="allennlp")

    for form in ("csv", "md", "tex"):
        made = tmp_path / "small" / f"{path.stem}.{form}"
        assert made.read_text(encoding="utf-8") == path.with_suffix(f".{form}").read_text(encoding="utf-8")


def published(table: str) -> List[Dict[str, str]]:
    """The lines of a published table."""
    with (RECORDS / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_documents_tell_what_was_measured() -> None:
    """What README and docs say of table 1: each gain that has at least three seeds, with both scores."""
    lines = published(f"table1-tuned-{'-'.join(TUNED)}")
    baselines = {line["task"]: line for line in lines if line["cell"] == "baseline"}
    told = [line for line in lines if line["cell"] == "elmo" and int(line["seeds_compared"]) >= 3]
    documents = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/experiments.md")]

    assert told
    for line in told:
        scores = (
            f"{float(one['mean']):.1f} ± {float(one['deviation']):.1f}" for one in (baselines[line["task"]], line)
        )
        row = " | ".join((*scores, f"{-float(line['error_reduction']):+.1f} %"))
        assert [row for document in documents if row not in document] == [], line["task"]
        assert f"{row} | {p_text(float(line['p_value']))} |" in documents[1], line["task"]


@pytest.mark.parametrize(
    "table,tasks",
    [("table2-tuned-snli-squad", ["srl", "snli"]), ("table3-tuned-snli-squad", ["srl", "snli"]), ("figure1", ["srl"])],
)
def test_documents_tell_what_was_measured_of_the_cells(table: str, tasks: List[str]) -> None:
    """Of the tasks that have all of a table."""
    lines = [line for line in published(table) if line["task"] in tasks]

    assert lines and all(line["mean"] for line in lines)
    for line in lines:
        deviation = f" ± {float(line['deviation']):.1f}" if line["deviation"] else ""
        assert f"| {float(line['mean']):.1f}{deviation} |" in EXPLAINED.read_text(encoding="utf-8"), line


def test_documents_tell_what_was_measured_of_the_tunings() -> None:
    text = EXPLAINED.read_text(encoding="utf-8")
    for line in published("table7"):
        words, unknown = int(line["words"]), int(line["unknown_words"])
        perplexities = f"{float(line['mean_before']):.1f} | {float(line['mean_after']):.1f}"
        assert f"| {words:,} | {100 * unknown / words:.1f} % | {perplexities} |" in text, line
        if line["untuned"]:
            scores = [
                f"{float(line[name]):.1f} ± {float(line[f'{name}_deviation']):.1f}" for name in ("untuned", "tuned")
            ]
            gain = f"{float(line['gain']):+.1f} | {p_text(float(line['p_value']))}"
            assert f"| {' | '.join(scores)} | {gain} |" in text, line


def test_each_record_is_of_an_experiment() -> None:
    """Another one is of an experiment that was changed since: it is read by no table."""
    wide = {**VARIABLES, "BILM_DIM": "256"}
    tables = [(table, {}) for table in TABLES if table != "figure2"]  # which has the trainings of table 1
    bilms = tunings.tuned_bilms(EXPERIMENTS, TUNED, wide, RECORDS)
    tables += [(table, bilms) for table, _ in tables if table != "figure1"]
    plans: List[Any] = [tunings.TuningPlan(tunings.tunings_of(EXPERIMENTS, None), None, wide, RECORDS)]
    for table, tuned in tables:
        plans.append(Plan(cells_of(table, EXPERIMENTS), None, wide if tuned else VARIABLES, RECORDS, tuned=tuned))
    known = {job.run.folder for plan in plans for job in plan.jobs()}

    found = {path.parent for path in RECORDS.rglob("run.json")}
    assert found and sorted(found - known) == []


def test_records_hold_no_path_of_a_machine() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in RECORDS.rglob("*.json*")}
    configs = [json.loads(text) for path, text in texts.items() if path.name == "config.json"]
    names = {name for config in configs for _, name in named_in(config)}

    assert (
        texts and [path for path, text in texts.items() if re.search(r"/(home|root|tmp|work|mnt|Users)/", text)] == []
    )
    assert names and [name for name in names if name.partition("/")[0] not in (*PLACES, "RUNS", "builtin")] == []
