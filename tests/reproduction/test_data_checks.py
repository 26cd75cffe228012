"""Data that AllenNLP's readers would take, or leave out, without a word."""

import gzip
import json
import lzma
from pathlib import Path
from typing import Any, Dict, List

import pytest

pytest.importorskip("allennlp")

from hypothesis import given, strategies

from elmo_plugin.reproduction.data_checks import unsound, unsound_vectors
from tests import task_data

CONTEXT = "The cat saw Ann."


def squad(*answers: List[Dict[str, Any]]) -> str:
    questions = [{"id": f"q{number}", "question": "Who?", "answers": given} for number, given in enumerate(answers)]
    return json.dumps({"data": [{"paragraphs": [{"context": CONTEXT, "qas": questions}]}]})


def pair(first: str, second: str, label: str) -> str:
    return json.dumps({"sentence1": first, "sentence2": second, "gold_label": label})


PAIR, TREE = "a pair of sentences with a label of SNLI, in JSON", "a tree of words with the labels 0 to 4"
RIGHT = [{"text": "Ann", "answer_start": 12}]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], "q1 has no answer"),
        ([{"text": "Ann", "answer_start": 4}], "q1 has 'Ann' at 4"),
        ([{"text": "Zoe", "answer_start": 12}], "q1 has 'Zoe' at 12"),
        ([*RIGHT, {"text": "Ann", "answer_start": -4}], "q1 has 'Ann' at -4"),
        ([{"text": "", "answer_start": 0}], "q1 has '' at 0"),
    ],
)
def test_answers_that_are_elsewhere(answers: List[Dict[str, Any]], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(squad(RIGHT, answers, answers))

    what = "2 questions are without words, or without an answer where it is said to be"
    assert unsound("squad", path) == [f"{path} ({what}; question {said})"]
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


@pytest.mark.parametrize(
    ("task", "right", "wrong", "form"),
    [
        ("ner", "-DOCSTART- -X- O O\n\nBonn NNP I-NP I-LOC\n \n", "Bonn I-LOC", "a word with three tags"),
        ("ner", "-DOCSTART-\n\nBonn NNP I-NP I-LOC", "New York NNP I-NP I-LOC", "a word with three tags"),
        ("snli", task_data.snli(), '{"sentence1": "a"}', PAIR),
        ("snli", task_data.snli(), "[1]", PAIR),
        ("snli", task_data.snli(), '{"sentence1": "a", "sen', PAIR),
        ("snli", task_data.snli(), "", PAIR),
        ("snli", task_data.snli(), pair("a", "b", "nuetral"), PAIR),
        ("snli", task_data.snli(), pair("a", " ", "neutral"), PAIR),
        ("snli", pair("a", "", "-"), pair("", "a", "entailment"), PAIR),
        ("sst", task_data.TREES, "(3 (2 fun)", TREE),
        ("sst", task_data.TREES, "(3 )", TREE),
        ("sst", task_data.TREES, "(3 (5 fun))", TREE),
        ("sst", task_data.TREES, "fun", TREE),
    ],
)
def test_lines_of_another_form(task: str, right: str, wrong: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(right)
    assert unsound(task, path) == []

    path.write_text(f"{right.rstrip()}\n{wrong}\n")
    number = len(right.rstrip().splitlines()) + 1
    assert unsound(task, path) == [f"{path} (1 line is not {form}; line {number}: {wrong!r})"]
    path.write_text(f"{wrong}\n{right.rstrip()}\n{wrong}\n{'x' * 100}\n")
    assert unsound(task, path) == [f"{path} (3 lines are not {form}; line 1: {wrong!r})"]
    path.write_bytes(right.encode() + b"\xff\n")
    (said,) = unsound(task, path)
    assert said.endswith("expected text in UTF-8)")


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x" * 200)

    (said,) = unsound("ner", path)
    assert said.endswith(f"line 1: {'x' * 100 + '...'!r})")


# AllenNLP leaves a file open that it refuses.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@given(strategies.one_of(strategies.text(), strategies.text('(){}[]":, 012ab\n#-')))
def test_no_text_is_too_strange(tmp_path_factory: pytest.TempPathFactory, lines: str) -> None:
    path = tmp_path_factory.mktemp("strange") / "a"
    path.write_bytes(lines.encode("utf-8", "surrogatepass"))

    for task in ("coref", "ner", "snli", "squad", "srl", "sst"):
        assert all(said.startswith(str(path)) for said in unsound(task, path))
    assert all(said.startswith(str(path)) for said in unsound_vectors(path, 3))


# AllenNLP leaves a file open that it refuses.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_word_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    for right in ("cat 1 2 3\n", "2 3\ncat 1 2 3\n"):  # the second one has a header
        path.write_text(right)
        assert unsound_vectors(path, 3) == []
        assert unsound_vectors(path, 100) == [f"{path} (vectors of 3 numbers, expected 100)"]

    for wrong in ("# Data\n", "cat 1 2 x\n", "\n", "", "2 3\n"):
        path.write_text(wrong)
        assert [said.partition(" (")[0] for said in unsound_vectors(path, 3)] == [str(path)]


def test_packed_word_vectors(tmp_path: Path) -> None:
    for name, compress in (("a.gz", gzip.compress), ("a.xz", lzma.compress)):
        path = tmp_path / name
        path.write_bytes(compress(b"cat 1 2 3\n"))
        assert unsound_vectors(path, 3) == []

        path.write_bytes(path.read_bytes()[:11])
        (said,) = unsound_vectors(path, 3)
        assert said.startswith(f"{path} (") and said.endswith("expected lines of a word and 3 numbers)")
    (tmp_path / "a.xz").write_bytes(b"cat 1 2 3\n")
    assert len(unsound_vectors(tmp_path / "a.xz", 3)) == 1


def test_word_vectors_in_hdf5_are_left_to_allennlp(tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_bytes(b"\x89HDF")

    assert unsound_vectors(tmp_path / "a.h5", 3) == []


def test_files_of_coreference(tmp_path: Path) -> None:
    path = tmp_path / "a.gold_conll"
    path.write_text("nw/a 0 0 cat\n\n")
    assert unsound("coref", path) == []

    path.write_text("nw/a 0 0 cat\n")
    (said,) = unsound("coref", path)
    assert "the last line is 'nw/a 0 0 cat'" in said


def test_another_task_is_left_to_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    assert unsound("pos", path) == []


@pytest.mark.parametrize("task", ["coref", "ner", "snli", "squad", "sst"])
def test_a_folder_in_the_place_of_a_file(task: str, tmp_path: Path) -> None:
    assert unsound(task, tmp_path) == [f"{tmp_path} (a folder, expected a file)"]


def test_files_of_semantic_roles_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.gold_conll").write_bytes(b"caf\xe9\n\n")
    (tmp_path / "b.gold_conll").symlink_to(tmp_path / "nowhere")
    (tmp_path / "gold_conll").mkdir()
    (tmp_path / "gold_conll" / "c.gold_conll").write_text("x 0\n\n")

    first, second = unsound("srl", tmp_path)
    assert first.endswith("expected text in UTF-8)") and "a.gold_conll" in first
    assert "b.gold_conll (No such file" in second


def test_questions_nested_without_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" * 100_000)

    (said,) = unsound("squad", path)
    assert "not JSON in the form of SQuAD" in said
