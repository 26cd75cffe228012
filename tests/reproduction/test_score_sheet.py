"""Our scores beside the paper's, for people and for programs."""

from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.score_sheet import COLUMNS, score_sheet
from tests.reproduction.runs import some_items

BASELINE = Cell(Path("x"), "ner", "baseline", "test", 90.0, printed="90.0")
ELMO = Cell(Path("x"), "ner", "elmo", "test", 92.0, 0.5, printed="92.0 ± 0.50")


def test_table_without_any_result_shows_the_paper():
    sheet = score_sheet("A title", [Row(BASELINE), Row(ELMO)], "builtin")

    assert dict(zip(COLUMNS, sheet.rows[1])) == {
        **dict.fromkeys(COLUMNS, ""),
        "task": "ner",
        "cell": "elmo",
        "score": "test",
        "paper": "92.0 ± 0.50",
        "its gain": "+2.0",
        "its errors": "-20.0%",
    }
    assert sheet.records[1]["mean"] is None and sheet.records[1]["paper_error_reduction"] == pytest.approx(20)


def test_table_with_results():
    wrong, right = ({1: some_items(right)} for right in ([0] * 14, [1] * 14))
    rows = [Row(BASELINE, {1: 0.8}, 30.0, ["0123456789abc"], wrong, parameters=1234)]
    commits = ["0123456789abc-dirty", "fedcba9876543"]
    rows.append(Row(ELMO, {1: 0.84, 2: 0.86}, 90.0, commits, right, parameters=1234))
    sheet = score_sheet("A title", rows, "original")

    assert sheet.rows[0][3:] == ["80.0", "1", "", "", "", "90.0", "", "", "1,234", "0.5", "012345678"]
    assert sheet.rows[1][3:] == [
        "85.0 ± 1.4",
        "2",
        "+4.0",
        "-20.0%",
        "<0.001",
        "92.0 ± 0.50",
        "+2.0",
        "-20.0%",
        "1,234",
        "1.5",
        "012345678-dirty, fedcba987",
    ]
    baseline, elmo = sheet.records
    assert (baseline["deviation"], baseline["bilm"], baseline["p_value"]) == (None, None, None)
    assert (elmo["mean"], elmo["gain"], elmo["error_reduction"]) == pytest.approx((85, 4, 20))
    assert (elmo["bilm"], elmo["seeds"], elmo["trained_weights"]) == ("original", 2, 1234)
    assert elmo["commit"] == "0123456789abc-dirty fedcba9876543"
    assert 1 / 10_000 <= elmo["p_value"] < 0.001
