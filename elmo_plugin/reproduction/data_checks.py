"""Data that AllenNLP's readers would take, or leave out, without a word."""

import json
from pathlib import Path
from typing import Callable, Dict, Iterator, List

from elmo_plugin.adapters.conll_files import fault_at_end

_CONLL = "*gold_conll"


def unsound(task: str, path: Path) -> List[str]:
    """
    Say what is wrong with data of a task before it is trained on.

    # Parameters

    task : "squad": answers have to be where they are said to be. "srl": there have to be files, and AllenNLP's reader
        leaves out a sentence that a file ends within. Others are checked by their readers.
    path : a file or a folder that is there.
    """
    check = _CHECKS.get(task)
    return [] if check is None else list(check(path))


def _semantic_roles(path: Path) -> Iterator[str]:
    files = sorted(path.rglob(_CONLL)) if path.is_dir() else [path]
    if not files:
        yield f"{path} (no file {_CONLL} in it)"
    for file in files:
        fault = fault_at_end(file)
        if fault is not None:
            yield f"{file} ({fault})"


def _questions(path: Path) -> Iterator[str]:
    try:
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        wrong = [problem for paragraph in paragraphs for problem in _misplaced(paragraph)]
    except (ValueError, KeyError, TypeError) as error:
        yield f"{path} (not JSON in the form of SQuAD 1.1: {error!r})"
        return
    if wrong:
        yield f"{path} ({len(wrong)} questions without an answer where it is said to be: {wrong[0]})"


def _misplaced(paragraph: Dict[str, object]) -> Iterator[str]:
    context, questions = paragraph["context"], paragraph["qas"]
    if not isinstance(context, str) or not isinstance(questions, list):
        raise TypeError(f"context is {type(context).__name__}, qas {type(questions).__name__}")
    for question in questions:
        if not question["answers"]:
            yield f"question {question['id']} has none"
        for answer in question["answers"]:
            start, text = answer["answer_start"], answer["text"]
            if start < 0 or not text or context[start : start + len(text)] != text:
                yield f"question {question['id']} has {text!r} at {start}"
                break


_CHECKS: Dict[str, Callable[[Path], Iterator[str]]] = {"squad": _questions, "srl": _semantic_roles}
