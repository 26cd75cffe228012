"""The trainings of a table of cells."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import cells_of
from elmo_plugin.reproduction.plan import CACHE_KEY, Plan
from elmo_plugin.reproduction.recovery import CALLBACKS_KEY, CHECKPOINTER_KEY

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
VARIABLES = {"SCALE": "small", "DATA": "data", "VECTORS": "vectors.txt", "BILM": "builtin"}


def plan(folder, **changes):
    return Plan(cells_of("table2", EXPERIMENTS, ["snli"]), (1, 2), VARIABLES, folder, **changes)


def test_cache_and_record_of_layers_are_for_elmo_alone(tmp_path):
    with_cache = plan(tmp_path, cache=tmp_path / "cache")
    overrides = {cell.variant: with_cache.runs_of(cell)[0].overrides for cell in with_cache.cells}

    resumable = {CHECKPOINTER_KEY: {"type": "elmo"}, CALLBACKS_KEY: [{"type": "elmo_resume"}, {"type": "elmo_epochs"}]}
    assert overrides.pop("baseline") == resumable
    with_layers = [{"type": "elmo_layer_weights"}, {"type": "elmo_resume"}, {"type": "elmo_epochs"}]
    expected = {**resumable, CACHE_KEY: str(tmp_path / "cache"), CALLBACKS_KEY: with_layers}
    assert all(value == expected for value in overrides.values())


def test_a_plan_with_other_variables_has_other_folders(tmp_path):
    """Also one that was made of another, whose folders are known already."""
    small = plan(tmp_path)
    (cell, *_) = small.cells
    folder = small.runs_of(cell)[0].folder
    paper = replace(small, variables={**VARIABLES, "SCALE": "paper"})

    assert paper.runs_of(cell)[0].folder != folder == replace(small, seeds=(1,)).runs_of(cell)[0].folder


def test_callbacks_of_a_cell_are_kept(tmp_path):
    """A training with one that may change its numbers is another one."""
    plain = plan(tmp_path).cells[0]
    cells = []
    for number, own in enumerate((None, ["elmo_progress"], [{"type": "elmo_resume"}], [{"type": "mine"}])):
        path = tmp_path / f"snli_{number}.jsonnet"
        path.write_text(f'(import "{plain.config}") {{ trainer+: {{ callbacks: {json.dumps(own)} }} }}')
        cells.append(replace(plain, config=path))
    changed = Plan(cells, (1,), VARIABLES, tmp_path)
    runs = [changed.runs_of(cell)[0] for cell in cells]

    added = [{"type": "elmo_resume"}, {"type": "elmo_epochs"}]
    expected = [added, [{"type": "elmo_progress"}, *added], added, [{"type": "mine"}, *added]]
    assert [run.overrides[CALLBACKS_KEY] for run in runs] == expected
    *others, changing = [run.folder for run in runs]
    assert {plan(tmp_path).runs_of(plain)[0].folder} == set(others) and changing not in others
