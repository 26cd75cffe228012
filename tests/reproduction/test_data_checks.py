"""Data that AllenNLP's readers would take, or leave out, without a word."""

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from elmo_plugin.reproduction.data_checks import unsound

CONTEXT = "The cat saw Ann."


def squad(*answers: List[Dict[str, Any]]) -> str:
    questions = [{"id": f"q{number}", "answers": given} for number, given in enumerate(answers)]
    return json.dumps({"data": [{"paragraphs": [{"context": CONTEXT, "qas": questions}]}]})


RIGHT = [{"text": "Ann", "answer_start": 12}]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], "question q1 has none"),
        ([{"text": "Ann", "answer_start": 4}], "question q1 has 'Ann' at 4"),
        ([{"text": "Zoe", "answer_start": 12}], "question q1 has 'Zoe' at 12"),
        ([*RIGHT, {"text": "Ann", "answer_start": -4}], "question q1 has 'Ann' at -4"),
        ([{"text": "", "answer_start": 0}], "question q1 has '' at 0"),
    ],
)
def test_answers_that_are_elsewhere(answers: List[Dict[str, Any]], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(squad(RIGHT, answers, answers))

    assert unsound("squad", path) == [f"{path} (2 questions without an answer where it is said to be: {said})"]
    path.write_text(squad(RIGHT, RIGHT))
    assert unsound("squad", path) == []


@pytest.mark.parametrize("text", ["", "[]", '{"data": 3}', '{"data": [{"paragraphs": [{}]}]}', squad([{}])])
def test_files_that_are_no_questions(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)

    (said,) = unsound("squad", path)
    assert said.startswith(f"{path} (not JSON in the form of SQuAD 1.1: ")


def test_files_of_semantic_roles(tmp_path: Path) -> None:
    """AllenNLP's reader passes over other names, and over a sentence without an end."""
    (tmp_path / "README").write_text("x")
    assert unsound("srl", tmp_path) == [f"{tmp_path} (no file *gold_conll in it)"]

    (tmp_path / "part").mkdir()
    for name, text in (("a", "x 0\n\n"), ("b", "x 0\n#end document\n"), ("c", "x 0\n")):
        (tmp_path / "part" / f"{name}.v4_gold_conll").write_text(text)
    (said,) = unsound("srl", tmp_path)
    assert said.startswith(f"{tmp_path}/part/c.v4_gold_conll (the last line is 'x 0', expected an empty one")


def test_other_tasks_are_left_to_their_readers(tmp_path: Path) -> None:
    assert unsound("ner", tmp_path) == []
