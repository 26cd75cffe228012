"""Weights of layers: the mean over seeds, by place."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import Cell
from elmo_plugin.reproduction.layer_sheet import LayerWeights, layer_sheet, layer_weights
from elmo_plugin.reproduction.results import Row
from tests.reproduction.runs import MIX, some_items

OUTPUT = {**MIX, "place": "output", "weights": [0.5, 0.25, 0.25]}


def row(task, *mixes_of_runs):
    items = {seed: some_items([1], mixes=mixes) for seed, mixes in enumerate(mixes_of_runs)}
    return Row(Cell(Path("x"), task, "elmo", "test"), items=items)


ROWS = [
    row("ner", [MIX], [{**MIX, "weights": [0.4, 0.5, 0.1], "gamma": 0.5}]),
    row("snli", [MIX, OUTPUT]),
    row("sst"),
]


def test_means_over_seeds():
    first, second, third = layer_weights(ROWS)

    assert first.weights == pytest.approx({0: 0.3, 1: 0.6, 2: 0.1})
    assert (first.task, first.place, first.gamma, first.seeds) == ("ner", "input", 1.0, 2)
    assert (second.task, second.place) == ("snli", "input")
    assert third == LayerWeights("snli", "output", {0: 0.5, 1: 0.25, 2: 0.25}, 1.5, 1)


def test_sheet():
    sheet = layer_sheet("A title", ROWS)

    assert sheet.columns == ("task", "ELMo at", "tokens", "LSTM 1", "LSTM 2", "gamma", "seeds")
    assert sheet.rows[0] == ["ner", "input", "0.30", "0.60", "0.10", "1.00", "2"]
    assert sheet.remarks == []
    assert sheet.records[2]["LSTM 1"] == 0.25 and sheet.records[2]["gamma"] == 1.5


def test_what_is_known_about_the_trainings_is_below():
    """As below the tables of scores: weights of models that were trained on other data, for example."""
    rows = [ROWS[0], replace(ROWS[1], remarks=["data have changed since"])]

    assert layer_sheet("A title", rows).remarks == ["data have changed since"]


def test_a_layer_that_a_task_does_not_use_is_left_empty():
    last = {**MIX, "layers": [2], "weights": [1.0]}

    assert layer_sheet("A title", [ROWS[0], row("sst", [last])]).rows[1][2:5] == ["", "", "1.00"]
