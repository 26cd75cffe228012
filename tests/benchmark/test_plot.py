import sys

import pytest

from elmo_plugin.benchmark import plot
from tests.benchmark.reports import example


def test_panels():
    panels = plot.panels(example())

    assert [title for title, _ in panels] == ["original, 1 thread(s), natural", "original, 2 thread(s), sorted"]
    _, lines = panels[0]
    assert lines["cpu"] == [(32, 244.0)]  # nothing at batch 8, where it was refused
    assert lines["limit"] == [(8, 500.0), (32, 500.0)]


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(plot.PlotError, match="pip install matplotlib"):
        plot.draw(example(), tmp_path / "results.svg")


def test_drawing(tmp_path):
    pytest.importorskip("matplotlib")

    plot.draw(example(), tmp_path / "results.svg")

    assert "<svg" in (tmp_path / "results.svg").read_text()


def test_nothing_to_draw(tmp_path):
    pytest.importorskip("matplotlib")

    with pytest.raises(plot.PlotError, match="no speeds"):
        plot.draw({"speed": []}, tmp_path / "results.svg")
