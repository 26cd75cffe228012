"""Data that AllenNLP's readers would take, or leave out, without a word, or refuse without a place."""

import json
from pathlib import Path
from typing import Callable, Dict, Iterator, List

from elmo_plugin.adapters.conll_files import fault_at_end
from elmo_plugin.dataset_readers.sst_phrases import LABELS

_CONLL = "*gold_conll"
#: characters of a wrong line
_SHOWN = 60


def unsound(task: str, path: Path) -> List[str]:
    """
    Say what is wrong with data of a task before it is trained on.

    # Parameters

    task : "squad": answers have to be where they are said to be. "srl": there have to be files, and AllenNLP's reader
        leaves out a sentence that a file ends within. "ner", "snli", "sst": each line has to be one of the format.
        "coref" is checked by its reader.
    path : a file or a folder that is there.

    # Returns

    Each file with what is wrong with it; of wrong lines, how many there are, and the first.
    """
    if path.is_dir() and task not in _OF_FOLDERS:
        return [f"{path} (a folder, expected a file)"]
    return list(_CHECKS[task](path)) if task in _CHECKS else []


def _told(check: Callable[[Path], Iterator[str]]) -> Callable[[Path], Iterator[str]]:
    """A check of one file that says so where the file cannot be read."""

    def telling(file: Path) -> Iterator[str]:
        try:
            yield from check(file)
        except UnicodeDecodeError as error:
            yield f"{file} ({error}; expected text in UTF-8)"
        except OSError as error:
            yield f"{file} ({error.strerror})"

    return telling


def _semantic_roles(path: Path) -> Iterator[str]:
    files = sorted(path.rglob(_CONLL)) if path.is_dir() else [path]
    if not files:
        yield f"{path} (no file {_CONLL} in it)"
    for file in files:
        yield from _told(_sentences)(file)


def _sentences(file: Path) -> Iterator[str]:
    fault = fault_at_end(file)
    if fault is not None:
        yield f"{file} ({fault})"


def unsound_vectors(path: Path, width: int) -> List[str]:
    """Say that a file does not begin with a word and its vector: AllenNLP passes over lines that are no vector."""
    from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile

    try:
        with EmbeddingsTextFile(str(path)) as lines:
            fields = next(lines).rstrip().split(" ")
        found = [float(field) for field in fields[1:]]
    except (ValueError, StopIteration, OSError) as error:
        return [f"{path} (word vectors expected, a word and {width} numbers a line: {error!r})"]
    return [] if len(found) == width else [f"{path} (vectors of {len(found)} numbers, expected {width})"]


def _lines(form: str, is_right: Callable[[str], bool]) -> Callable[[Path], Iterator[str]]:
    """Make a check of a file whose lines, but for empty ones, all have a form."""

    def check(path: Path) -> Iterator[str]:
        with path.open(encoding="utf-8") as lines:
            numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1) if not line.isspace()]
        wrong = [(number, line) for number, line in numbered if not is_right(line)]
        if wrong:
            number, line = wrong[0]
            shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
            count = "1 line is" if len(wrong) == 1 else f"{len(wrong):,} lines are"
            yield f"{path} ({count} not {form}; line {number:,}: {shown!r})"

    return check


def _is_word_with_tags(line: str) -> bool:
    fields = line.split()
    return len(fields) == 4 or fields[0] == "-DOCSTART-"


def _is_pair(line: str) -> bool:
    try:
        pair = json.loads(line)
        return all(isinstance(pair[key], str) for key in ("gold_label", "sentence1", "sentence2"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _is_tree(line: str) -> bool:
    from nltk.tree import Tree

    try:
        tree = Tree.fromstring(line)
        return all(node.label() in LABELS for node in tree.subtrees())
    except (ValueError, RecursionError):
        return False


def _questions(path: Path) -> Iterator[str]:
    try:
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        wrong = [problem for paragraph in paragraphs for problem in _misplaced(paragraph)]
    except UnicodeDecodeError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
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


_CHECKS: Dict[str, Callable[[Path], Iterator[str]]] = {
    "squad": _told(_questions),
    "srl": _semantic_roles,
    "ner": _told(_lines("a word with three tags", _is_word_with_tags)),
    "snli": _told(_lines("JSON with gold_label, sentence1 and sentence2", _is_pair)),
    "sst": _told(_lines("a tree with the labels 0 to 4", _is_tree)),
}
#: tasks whose readers take folders
_OF_FOLDERS = ("srl",)
