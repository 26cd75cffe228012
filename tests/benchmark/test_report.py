import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import List

import pytest

from elmo_plugin.benchmark import report


@dataclass(frozen=True)
class Inner:
    value: float


@dataclass(frozen=True)
class Outer:
    inner: Inner
    several: List[Inner]


def test_plain():
    value = {"a": Outer(Inner(1.5), [Inner(math.inf)]), 2: (Path("/home/somebody/text.txt"), math.nan, True, None)}

    assert report.plain(value) == {
        "a": {"inner": {"value": 1.5}, "several": [{"value": None}]},
        "2": ["text.txt", None, True, None],
    }


def test_there_and_back(tmp_path):
    path = tmp_path / "new" / "results.json"
    written = report.start({"cpu": "some"}, {"seed": 1})

    report.write(written, path)
    report.write(written, path)

    assert report.read(path) == json.loads(path.read_text()) == written
    assert [entry.name for entry in path.parent.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    "content,message",
    [
        ("{", "expected the results.json"),
        ("[]", "format is None, expected 1"),
        ('{"format": 0}', "format is 0, expected 1"),
    ],
)
def test_other_files(tmp_path, content, message):
    path = tmp_path / "results.json"
    path.write_text(content)

    with pytest.raises(report.ReportError, match=message) as caught:
        report.read(path)
    assert str(path) in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(report.ReportError, match="No such file"):
        report.read(tmp_path / "results.json")
