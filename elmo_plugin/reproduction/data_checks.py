"""Data that AllenNLP's readers would take, or leave out, without a word, or refuse without a place."""

import json
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

from elmo_plugin.adapters.conll_files import fault_at_end
from elmo_plugin.dataset_readers.sst_phrases import LABELS

_CONLL = "*gold_conll"
#: characters of a wrong line
_SHOWN = 100
#: tasks whose readers take folders
_OF_FOLDERS = ("srl",)
#: the last one is of pairs on which the annotators did not agree, which the reader leaves out
_LABELS_OF_PAIRS = ("entailment", "neutral", "contradiction", "-")
#: of a packed file that was cut off or is none
_PACKING_ERRORS = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def unsound(task: str, path: Path) -> List[str]:
    """
    Say what is wrong with data of a task before it is trained on.

    # Parameters

    task : "squad": answers have to be where they are said to be, of questions with words. "srl", "coref": AllenNLP's
        parser leaves out a sentence that a file ends within; for "srl" there have to be files. "ner", "snli", "sst":
        each line has to be what the reader and the model take.
    path : a file or a folder that is there.

    # Returns

    Each file with what is wrong with it; of wrong lines, how many there are, and the first.
    """
    if path.is_dir() and task not in _OF_FOLDERS:
        return [f"{path} (a folder, expected a file)"]
    return list(_CHECKS[task](path)) if task in _CHECKS else []


def unsound_vectors(path: Path, width: int) -> List[str]:
    """
    Say that a file does not begin with a word and its vector.

    AllenNLP passes over lines of another width, so that all words would have random vectors. What it reads as hdf5 is
    not looked at.
    """
    from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile

    if path.suffix in (".h5", ".hdf5"):
        return []
    form = f"a word and {width} numbers"
    line = ""
    try:
        with EmbeddingsTextFile(str(path)) as lines:
            line = next(lines, "").rstrip()
        found = [float(field) for field in line.split(" ")[1:]]
    except (OSError, *_PACKING_ERRORS) as error:
        return [f"{path} ({error}; expected lines of {form})"]
    except (ValueError, StopIteration):
        return [f"{path} (the first line is {_cut(line)!r}, expected {form})"]
    return [] if len(found) == width else [f"{path} (vectors of {len(found)} numbers, expected {width})"]


def _cut(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _of_file(check: Callable[[Path], Iterator[str]]) -> Callable[[Path], Iterator[str]]:
    """A check of one file that says so where the file cannot be read."""

    def with_errors(file: Path) -> Iterator[str]:
        try:
            yield from check(file)
        except UnicodeDecodeError as error:
            yield f"{file} ({error}; expected text in UTF-8)"
        except OSError as error:
            yield f"{file} ({error.strerror})"

    return with_errors


def _of_lines(form: str, is_right: Callable[[str], bool], may_be_empty: bool = True) -> Callable[[Path], Iterator[str]]:
    """A check of a file whose lines all have a form, but for empty ones where they may be."""

    def check(path: Path) -> Iterator[str]:
        count, first = 0, ""
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not (line.isspace() and may_be_empty) and not is_right(line):
                    first = first or f"line {number:,}: {_cut(line.strip())!r}"
                    count += 1
        if count:
            yield f"{path} ({'1 line is' if count == 1 else f'{count:,} lines are'} not {form}; {first})"

    return _of_file(check)


def _is_word_with_tags(line: str) -> bool:
    fields = line.split()
    return len(fields) == 4 or fields[0] == "-DOCSTART-"


def _is_pair(line: str) -> bool:
    try:
        pair = json.loads(line)
        texts = [pair[key] for key in ("sentence1", "sentence2")]
        return pair["gold_label"] in _LABELS_OF_PAIRS and (pair["gold_label"] == "-" or all(map(_has_words, texts)))
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _has_words(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _is_tree(line: str) -> bool:
    from nltk.tree import Tree

    try:
        tree = Tree.fromstring(line)
        return bool(tree.leaves()) and all(node.label() in LABELS for node in tree.subtrees())
    except (ValueError, RecursionError):
        return False


def _sentences(file: Path) -> Iterator[str]:
    fault = fault_at_end(file)
    if fault is not None:
        yield f"{file} ({fault})"


def _semantic_roles(path: Path) -> Iterator[str]:
    # Others may be folders: the reader goes into them, whatever their names.
    files = [file for file in sorted(path.rglob(_CONLL)) if not file.is_dir()] if path.is_dir() else [path]
    if not files:
        yield f"{path} (no file {_CONLL} in it)"
    for file in files:
        yield from _of_file(_sentences)(file)


def _questions(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    try:
        articles = json.loads(text)["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        wrong = [problem for paragraph in paragraphs for problem in _wrong_in(paragraph)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        yield f"{path} (not JSON in the form of SQuAD 1.1: {error!r})"
        return
    if wrong:
        count = "1 question is" if len(wrong) == 1 else f"{len(wrong):,} questions are"
        yield f"{path} ({count} without words, or without an answer where it is said to be; question {wrong[0]})"


def _wrong_in(paragraph: Dict[str, Any]) -> Iterator[str]:
    context, questions = paragraph["context"], paragraph["qas"]
    if not isinstance(context, str) or not isinstance(questions, list):
        raise TypeError(f"context is {type(context).__name__}, qas {type(questions).__name__}")
    for question in questions:
        if not _has_words(question["question"]):
            yield f"{question['id']} has no words"
        elif not question["answers"]:
            yield f"{question['id']} has no answer"
        else:
            elsewhere = (answer for answer in question["answers"] if not _is_there(answer, context))
            for answer in elsewhere:
                yield f"{question['id']} has {answer['text']!r} at {answer['answer_start']}"
                break


def _is_there(answer: Dict[str, Any], context: str) -> bool:
    start, text = answer["answer_start"], answer["text"]
    return start >= 0 and bool(text) and context[start : start + len(text)] == text


_CHECKS: Dict[str, Callable[[Path], Iterator[str]]] = {
    "coref": _of_file(_sentences),
    "ner": _of_lines("a word with three tags", _is_word_with_tags),
    "snli": _of_lines("a pair of sentences with a label of SNLI, in JSON", _is_pair, may_be_empty=False),
    "squad": _of_file(_questions),
    "srl": _semantic_roles,
    "sst": _of_lines("a tree of words with the labels 0 to 4", _is_tree),
}
