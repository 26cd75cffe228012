"""What a sheet looks like in each form."""

import csv
import io
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from elmo_plugin.reproduction.sheet import Sheet, comma_separated, latex, markdown, show, write

SHEET = Sheet(
    "A title",
    ("task", "score", "errors"),
    [["ner", "60.0 ± 0.5", "-20.0%"], ["a_b", "", ""]],
    [{"task": "ner", "mean": 60.04, "p": None}, {"task": "a_b", "mean": None, "p": 0.25}],
    texts=1,
)


def test_markdown():
    assert markdown(SHEET).splitlines() == [
        "A title",
        "",
        "| task | score | errors |",
        "| --- | ---: | ---: |",
        "| ner | 60.0 ± 0.5 | -20.0% |",
        "| a_b |  |  |",
    ]


def test_latex_tells_a_minus_from_a_hyphen():
    rows = [["f1-measure", "0123-dirty", "-1.5"], ["b-2", "", "(-3, +4)"]]
    found = latex(Sheet("A title", ("a", "b", "c"), rows, [])).splitlines()

    assert r"f1{-}measure & 0123{-}dirty & $-$1.5 \\" in found and r"b{-}2 &  & ($-$3, +4) \\" in found


def test_latex():
    assert latex(SHEET).splitlines() == [
        "% A title",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"task & score & errors \\",
        r"\midrule",
        r"ner & 60.0 $\pm$ 0.5 & $-$20.0\% \\",
        r"a\_b &  &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_remarks_are_comments_in_latex():
    sheet = replace(SHEET, remarks=["Beware\nof this.", "And of that.", "Beware\nof this."])

    assert latex(sheet).splitlines()[:4] == [
        "% A title",
        "% Beware of this.",
        "% And of that.",
        r"\begin{tabular}{lrr}",
    ]


def test_csv_has_numbers_and_nothing_where_there_is_none():
    assert comma_separated(SHEET) == "task,mean,p\nner,60.04,\na_b,,0.25\n"


def test_numbers_are_not_broken_on_a_narrow_terminal(capsys):
    show(SHEET, Console(width=10))

    assert "60.0 ± 0.5" in capsys.readouterr().out


def test_every_form_is_written(tmp_path):
    paths = write(SHEET, tmp_path / "new", "table1")

    assert [path.name for path in paths] == ["table1.md", "table1.csv", "table1.tex"]
    assert paths[0].read_text(encoding="utf-8") == markdown(SHEET)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)


# Names of tasks, cells and biLMs: no control characters.
NAMES = st.text(st.characters(blacklist_categories=("Cc", "Cs")))


@given(st.lists(st.fixed_dictionaries({"task": NAMES, "mean": st.floats(allow_nan=False)}), min_size=1))
def test_csv_is_read_back(records):
    read = list(csv.DictReader(io.StringIO(comma_separated(Sheet("", (), [], records)), newline="")))

    assert [(line["task"], float(line["mean"])) for line in read] == [(one["task"], one["mean"]) for one in records]


def test_brackets_are_no_markup():
    """As in the path of a biLM."""
    console = Console(record=True, width=200)
    show(Sheet("biLM /m/[new]/model.tar.gz", ("a",), [["[b]"]], []), console)

    said = "".join(console.export_text().split())  # a narrow title has several lines
    assert "/m/[new]/model.tar.gz" in said and "[b]" in said


def test_a_legend_stands_below_the_table():
    with_legend = replace(SHEET, legend="score: of 100", remarks=["a remark"])

    assert markdown(with_legend).splitlines()[-4:] == ["", "score: of 100", "", "- a remark"]
    assert latex(with_legend).splitlines()[:3] == ["% A title", "% score: of 100", "% a remark"]
    console = Console(file=io.StringIO(), width=200)
    show(with_legend, console)
    assert console.file.getvalue().splitlines()[-2:] == ["score: of 100", "a remark"]
