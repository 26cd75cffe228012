"""What the experiments read, whether it is there, and where to get it."""

import shlex
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

from elmo_plugin.adapters.patterns import matching
from elmo_plugin.dataset_readers.joined import expand
from elmo_plugin.dataset_readers.slice import parse
from elmo_plugin.formats import pretrained
from elmo_plugin.reproduction.cells import resolve
from elmo_plugin.reproduction.data_checks import unsound, unsound_vectors
from elmo_plugin.reproduction.named import DATA, WEIGHTS, WORD_VECTORS, kind_of, named_in, vectors_in

#: for each task at the paper's scale: where its data come from
SOURCES: Dict[str, str] = {
    "ner": (
        "CoNLL-2003 (https://www.clips.uantwerpen.be/conll2003/ner/) needs the Reuters corpus RCV1 from NIST "
        "(https://trec.nist.gov/data/reuters/reuters.html), licensed. Its scripts make eng.train, eng.testa and "
        "eng.testb: into DATA/conll2003. The Senna vectors (https://ronan.collobert.com/senna/): words.lst and "
        "embeddings.txt side by side (paste -d ' ' hash/words.lst embeddings/embeddings.txt) as "
        "DATA/senna/senna.50d.txt."
    ),
    "srl": (
        "OntoNotes 5.0 is LDC2013T19 (https://catalog.ldc.upenn.edu/LDC2013T19), licensed. Put its words into the "
        "CoNLL-2012 skeletons by their script (https://cemantix.org/data/ontonotes.html), so that train, development "
        "and conll-2012-test lie side by side. The folder is DATA/conll-formatted-ontonotes-5.0/data."
    ),
    "coref": (
        "OntoNotes 5.0 is LDC2013T19 (https://catalog.ldc.upenn.edu/LDC2013T19), licensed. Put its words into version "
        "4 of the files of the CoNLL-2012 shared task by its script (https://conll.cemantix.org/2012/data.html); those "
        "for semantic roles are other ones. Join data/english/annotations/*/*/*/*.v4_gold_conll of a part into one: "
        "DATA/coref/train.english.v4_gold_conll, dev.english.v4_gold_conll and, of the test key, "
        "test.english.v4_gold_conll (2,802, 343 and 348 documents)."
    ),
    "squad": "SQuAD v1.1 is public and fetched by its address.",
    "snli": "SNLI is public and fetched by its address.",
    "sst": (
        "The Stanford Sentiment Treebank is public (https://nlp.stanford.edu/sentiment) and fetched by its address; "
        "the biLM is tuned on trees from SST_DATA: train.txt, dev.txt and test.txt."
    ),
}
#: and at the small scale
_OPEN = (
    "These are open data, which do not come with this repository: docs/data.md says where from and how they are cut."
)
_PROGRAM = "program"


@dataclass(frozen=True)
class Problem:
    """
    What an experiment reads or runs that is not there, or not as its readers expect it.

    # Parameters

    kind : "data", "word vectors" or "program".
    text : which one, and what is wrong with it.
    is_absent : it is not there, or empty; else it is to be corrected.
    """

    kind: str
    text: str
    is_absent: bool = True


@dataclass(frozen=True)
class Needs:
    """
    What some experiments read and run.

    # Parameters

    problems : by task, where there are any.
    fetched : by task the addresses from which a training fetches what it needs, biLMs too.
    """

    problems: Mapping[str, Sequence[Problem]]
    fetched: Mapping[str, Sequence[str]]


def needs_of(experiments: Sequence[Tuple[str, Path]], variables: Mapping[str, str]) -> Needs:
    """
    Look for what experiments, each with its task, read and run.

    # Parameters

    variables : of the experiments.

    # Raises

    `CellError` where an experiment cannot be evaluated.
    """
    named: Dict[str, _Named] = {}
    for task, config in experiments:
        named.setdefault(task, _Named()).add(resolve(config, variables))
    problems = {task: list(dict.fromkeys(_problems(task, of_task))) for task, of_task in named.items()}
    return Needs(
        {task: of_task for task, of_task in problems.items() if of_task},
        {task: list(of_task.addresses) for task, of_task in named.items() if of_task.addresses},
    )


class _Named:
    """What the configurations of a task name, each once; biLMs that are no address are left to those who read them."""

    def __init__(self) -> None:
        self.addresses: Dict[str, None] = {}
        self.data: Dict[str, None] = {}
        self.vectors: Dict[Tuple[str, int], None] = {}

    def add(self, content: Mapping[str, Any]) -> None:
        for key, name in named_in(content):
            if key == WEIGHTS:
                self.addresses.update(dict.fromkeys(pretrained.addresses(name)))
            elif pretrained.is_url(name):
                self.addresses[name] = None
            elif kind_of(key) == DATA:
                # The readers `joined` and `slice` find files behind a name; others find what has it.
                self.data.update(dict.fromkeys(expand(parse(name).file)))
        here = [(path, width) for path, width in vectors_in(content) if not pretrained.is_url(path)]
        self.vectors.update(dict.fromkeys(here))


def _problems(task: str, named: _Named) -> Iterator[Problem]:
    for program in missing_programs(task):
        yield Problem(_PROGRAM, program)
    for path in named.data:
        yield from _of_files(DATA, path, partial(unsound, task))
    for path, width in named.vectors:
        yield from _of_files(kind_of(WORD_VECTORS), path, partial(unsound_vectors, width=width))


def _of_files(kind: str, path: str, check: Callable[[Path], Sequence[str]]) -> Iterator[Problem]:
    """What is wrong with the files and folders behind a path or a pattern."""
    files = found_at(path)
    if not files:
        yield Problem(kind, path)
    for file in files:
        if not file.exists():
            yield Problem(kind, f"{file} (a link that leads nowhere)")
        elif not (any(file.iterdir()) if file.is_dir() else file.stat().st_size):
            yield Problem(kind, f"{file} (empty)")
        else:
            yield from (Problem(kind, text, is_absent=False) for text in check(file))


def found_at(path: str) -> List[Path]:
    """The files and folders behind a path or a pattern."""
    return [Path(name) for name in matching(path)]


def missing_programs(task: str) -> List[str]:
    """Name the programs that a task needs and that are not there."""
    is_there = task != "srl" or shutil.which("perl") is not None
    return [] if is_there else ["the program perl, which runs the official script srl-eval.pl"]


def explain(needs: Needs, scale: str, folder: str, vectors: str) -> str:
    """
    Say what is not there or to be corrected, what several tasks read once, and what to do; empty where all is well.

    # Parameters

    folder : of all data sets, as it was given.
    vectors : the file of the word vectors of the small scale.
    """
    tasks_of: Dict[Problem, List[str]] = {}
    for task, problems in needs.problems.items():
        for problem in problems:
            tasks_of.setdefault(problem, []).append(task)
    groups: Dict[str, List[str]] = {}
    for problem, tasks in tasks_of.items():
        heading = f"{', '.join(tasks)}: {'missing' if problem.is_absent else 'to correct'}"
        groups.setdefault(heading, []).append(problem.text)
    lines = [line for heading, texts in groups.items() for line in (heading, *(f"  {text}" for text in sorted(texts)))]
    absent = {problem.kind for problem in tasks_of if problem.is_absent}
    if scale == "paper":
        has_absent = [
            task
            for task, problems in needs.problems.items()
            if any(problem.is_absent and problem.kind != _PROGRAM for problem in problems)
        ]
        return "\n".join([*lines, *(f"{task}: {SOURCES[task]}" for task in has_absent)])
    if DATA in absent:
        lines.append(f"{_OPEN} Their folder is {folder!r}; --data names another one.")
    if kind_of(WORD_VECTORS) in absent:
        corpus = shlex.quote(f"{folder}/lm/train-*.txt.gz")
        lines.append(f"The word vectors are made by: allennlp elmo-tables vectors {corpus} -o {shlex.quote(vectors)}")
    return "\n".join(lines)
