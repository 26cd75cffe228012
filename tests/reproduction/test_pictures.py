"""Pictures: what is drawn, and what is said where nothing can be."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.benchmark.plot import PlotError
from elmo_plugin.reproduction import pictures
from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.results import Row
from tests.reproduction.runs import MIX, some_items


def cell(variant, percent=100.0, paper=None, task="snli"):
    return Cell(Path("x"), task, variant, "test", paper, percent=percent)


SCORES = [
    Row(cell("baseline", paper=88.0), {1: 0.6}),
    Row(cell("elmo", paper=88.7), {1: 0.65, 2: 0.7}),
    Row(cell("elmo", paper=92.2, task="ner")),
]
FRACTIONS = [
    Row(cell(f"{kind}_{percent}", percent), {1: 0.5, 2: 0.52} if percent < 100 else {1: 0.8})
    for percent in (0.1, 1.0, 100.0)
    for kind in ("baseline", "elmo")
]
LAYERS = [
    Row(cell("elmo", task=task), items={1: some_items([1], mixes=mixes)})
    for task, mixes in (("ner", [MIX]), ("snli", [MIX, {**MIX, "place": "output"}]))
]
ALL = [("table1", SCORES), ("figure1", FRACTIONS), ("figure2", LAYERS)]


@pytest.mark.parametrize("table,rows", ALL, ids=[table for table, _ in ALL])
def test_a_picture_is_drawn(table, rows, tmp_path):
    """Whatever the path of the biLM in its title."""
    pytest.importorskip("matplotlib")

    pictures.draw(table, "A title, biLM /a$_$b", rows, tmp_path / "new" / "picture.png")

    assert (tmp_path / "new" / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((tmp_path / "new").iterdir())) == 1


@pytest.fixture
def figure():
    return pytest.importorskip("matplotlib.figure").Figure()


def test_figure_1_has_a_line_for_each_kind_of_model(figure):
    pictures._over_data(figure, [*FRACTIONS[:-1], Row(cell("baseline", 100.0, task="other"), {1: 0.7})])

    (axes,) = figure.axes
    lines = {container.get_label(): container[0].get_xydata().tolist() for container in axes.containers}
    assert lines == {
        "baseline": [[0.1, 51.0], [1.0, 51.0], [100.0, 80.0]],
        "ELMo": [[0.1, 51.0], [1.0, 51.0]],
    }
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.1 %", "1 %", "100 %"]


def test_figure_2_has_a_panel_for_the_input_and_one_for_the_output(figure):
    pictures._layers(figure, pictures.layer_weights(LAYERS))

    input_axes, output_axes = figure.axes
    assert (input_axes.get_title(), output_axes.get_title()) == ("input", "output")
    assert [label.get_text() for label in input_axes.get_yticklabels()] == ["snli", "ner"]
    assert [label.get_text() for label in output_axes.get_yticklabels()] == ["snli"]
    assert [text.get_text() for text in output_axes.texts] == ["0.20", "0.70", "0.10"]
    assert [patch.get_hatch() for patch in output_axes.patches] == ["--", "..", "--"]


@pytest.mark.parametrize("weight,hatch", [(0.33, "--"), (1 / 3, None), (0.5, None), (2 / 3, None), (0.67, "..")])
def test_what_is_hatched_as_in_the_paper(weight, hatch):
    assert pictures.cell_style(weight)["hatch"] == hatch


def test_weights_that_are_fixed_may_be_any():
    assert pictures.cell_style(-2.0)["facecolor"] == pictures.cell_style(0.0)["facecolor"]
    assert pictures.cell_style(3.0)["facecolor"] == pictures.cell_style(1.0)["facecolor"]


def test_a_table_shows_what_is_gained_beside_the_paper_s(figure):
    """As points above the first cell that has a score, of the seeds that both have; scores stand beside the marks."""
    pictures._scores(figure, SCORES)

    snli, ner = figure.axes
    assert [label.get_text() for label in snli.get_yticklabels()] == ["elmo", "baseline"]
    assert snli.get_xlabel() == "points above baseline"
    marks = [(text.get_text(), round(text.xy[0], 2)) for text in snli.texts]
    assert marks == [("67.5", 5.0), ("88.7", 0.7), ("60.0", 0.0), ("88.0", 0.0)]
    assert [text.get_text() for text in ner.texts] == ["92.2"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ours", "paper"]


@pytest.mark.parametrize("table", ["table1", "figure1", "figure2"])
def test_nothing_to_draw(table, tmp_path):
    pytest.importorskip("matplotlib")

    with pytest.raises(PlotError, match="to draw"):
        pictures.draw(table, "A title", [Row(cell("elmo"))], tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(PlotError, match="pip install matplotlib"):
        pictures.draw("table1", "A title", SCORES, tmp_path / "picture.png")
