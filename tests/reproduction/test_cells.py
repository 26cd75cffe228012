"""The cells of the paper's tables say what the paper has there."""

from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import TABLES, Cell, CellError, cells_of, essence, fingerprint

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "data", "VECTORS": "vectors.txt", "BILM": "builtin"}


@pytest.mark.parametrize("table,number", list(zip(TABLES, [12, 12, 9, 16, 6])))
def test_every_cell_is_read(table, number):
    assert len(cells_of(table, EXPERIMENTS)) == number


def test_what_a_cell_says():
    cells = cells_of("table1", EXPERIMENTS, ["ner"])

    assert cells == [
        Cell(EXPERIMENTS / "table1/ner_baseline.jsonnet", "ner", "baseline", "test", 90.15, printed="90.15"),
        Cell(EXPERIMENTS / "table1/ner_elmo.jsonnet", "ner", "elmo", "test", 92.22, 0.1, printed="92.22 ± 0.10"),
    ]


def test_figure_1_goes_up_to_all_of_the_data():
    cells = [(cell.variant, cell.percent, cell.is_baseline) for cell in cells_of("figure1", EXPERIMENTS, ["srl"])]

    assert cells[:2] == [("baseline_0.1", 0.1, True), ("elmo_0.1", 0.1, False)]
    assert cells[-2:] == [("baseline", 100.0, True), ("elmo", 100.0, False)]
    assert len(cells) == 8


def test_figure_2_is_of_the_models_with_elmo_of_table_1():
    with_elmo = [cell for cell in cells_of("table1", EXPERIMENTS) if cell.variant == "elmo"]

    assert cells_of("figure2", EXPERIMENTS) == with_elmo


def test_gains_of_table_1_are_the_paper_s():
    """Percent of the baseline's errors that ELMo takes away, as the paper prints them."""
    from elmo_plugin.reproduction.scores import error_reduction

    printed = {"squad": 24.9, "snli": 5.8, "srl": 17.2, "coref": 9.8, "ner": 21, "sst": 6.8}
    for task, reduction in printed.items():
        baseline, elmo = cells_of("table1", EXPERIMENTS, [task])
        assert error_reduction(baseline.paper, elmo.paper) == pytest.approx(reduction, abs=0.06)


def test_other_tables_and_tasks_are_refused():
    with pytest.raises(CellError, match="table9: no experiments. Start this command"):
        cells_of("table9", EXPERIMENTS)
    with pytest.raises(CellError, match=r"no task \['pos'\]; choose from \['coref', 'ner'"):
        cells_of("table1", EXPERIMENTS, ["pos", "ner"])


def test_a_cell_without_a_number_is_refused(tmp_path):
    (tmp_path / "table1").mkdir()
    (tmp_path / "table1" / "ner_elmo.jsonnet").write_text("// About 92.\n{}")

    with pytest.raises(CellError, match="ner_elmo.jsonnet: the first line is '// About 92.'"):
        cells_of("table1", tmp_path)


def test_equal_trainings_have_equal_names_wherever_the_data_are():
    def name(cell, **changes):
        return fingerprint(EXPERIMENTS / f"{cell}.jsonnet", {**VARIABLES, **changes})

    assert name("table1/srl_elmo") == name("table3/srl_input") == name("table2/srl_lambda_0.001", DATA="elsewhere")
    assert name("table1/srl_baseline") == name("table2/srl_baseline")
    different = [name("table1/srl_elmo"), name("table1/srl_elmo", SCALE="paper"), name("table2/srl_last")]
    assert len(set(different + [name("table1/srl_elmo", BILM="original")])) == 4


def test_who_looks_on_is_not_in_the_name(tmp_path):
    (tmp_path / "a.jsonnet").write_text('{ trainer: { lr: 1, callbacks: [{ type: "elmo_progress" }] } }')
    (tmp_path / "b.jsonnet").write_text("{ trainer: { lr: 1 } }")
    (tmp_path / "c.jsonnet").write_text("{ trainer: { lr: 2 } }")

    names = [fingerprint(tmp_path / f"{name}.jsonnet", {}) for name in "abc"]
    assert names[0] == names[1] != names[2]


def test_essence_of_a_configuration():
    """Paths, seeds, onlookers, checkpoints and caches change no training; all else does."""
    content = {
        "train_data_path": "/a",
        "random_seed": 1,
        "trainer": {"lr": 1, "checkpointer": {"type": "elmo"}, "callbacks": ["elmo_progress"]},
        "model": {"layers": [{"weights": "/b", "cache": "/c", "dim": 2}]},
    }
    other = {"train_data_path": "/d", "trainer": {"lr": 1}, "model": {"layers": [{"weights": "x", "dim": 2}]}}

    assert essence(content) == essence(other)
    for changed in (
        {**other, "trainer": {"lr": 2}},
        {**other, "trainer": {"lr": 1, "callbacks": [{"type": "mine"}]}},
        {**other, "model": {"layers": [{"weights": "x", "dim": 3}]}},
    ):
        assert essence(changed) != essence(content)
