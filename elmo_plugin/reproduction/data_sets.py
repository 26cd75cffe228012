"""What the experiments read, whether it is there, and where to get it."""

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Mapping, Sequence, Tuple

from elmo_plugin.adapters.patterns import matching
from elmo_plugin.dataset_readers.joined import expand
from elmo_plugin.dataset_readers.slice import parse
from elmo_plugin.reproduction.cells import resolve
from elmo_plugin.reproduction.data_checks import unsound, unsound_vectors
from elmo_plugin.reproduction.named import DATA, WEIGHTS, kind_of, named_in, vectors_in

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
#: and of the small scale
_OPEN = (
    "These are open data, which do not come with this repository: docs/data.md says where from and how they are cut."
)


@dataclass(frozen=True)
class Needs:
    """
    What some experiments read and run.

    # Parameters

    missing : by task what is not there, or would be taken by readers though it is wrong; nothing where all is sound.
    fetched : by task the addresses that are fetched from when a training needs them.
    vectors : those of the word vectors that are not there.
    """

    missing: Mapping[str, Sequence[str]]
    fetched: Mapping[str, Sequence[str]]
    vectors: Sequence[str] = ()


def needs_of(experiments: Sequence[Tuple[str, Path]], variables: Mapping[str, str]) -> Needs:
    """
    Look for what experiments, each with its task, read and run.

    # Parameters

    variables : of the experiments.
    """
    missing: Dict[str, Dict[str, None]] = {}
    fetched: Dict[str, Dict[str, None]] = {}
    data: Dict[Tuple[str, Path], None] = {}
    vectors: Dict[Tuple[str, str, int], None] = {}
    for task, config in experiments:
        content = resolve(config, variables)
        missing.setdefault(task, {}).update(dict.fromkeys(missing_programs(task)))
        fetched.setdefault(task, {})
        # Who reads a biLM says what is wrong with it.
        named = [(key, name) for key, name in named_in(content) if key != WEIGHTS]
        fetched[task].update(dict.fromkeys(name for _, name in named if _is_address(name)))
        for key, path in ((key, path) for key, name in named if not _is_address(name) for path in _paths(name)):
            missing[task].update(dict.fromkeys(_absent(path)))
            if kind_of(key) == DATA:
                data.update(dict.fromkeys((task, file) for file in found_at(path)))
        own = [(task, path, width) for path, width in vectors_in(content) if not _is_address(path)]
        vectors.update(dict.fromkeys(own))
    for task, file in data:
        if _holds(file):
            missing[task].update(dict.fromkeys(unsound(task, file)))
    for task, path, width in vectors:
        for file in filter(_holds, found_at(path)):
            missing[task].update(dict.fromkeys(unsound_vectors(file, width)))
    absent = {path: None for _, path, _ in vectors if _absent(path)}
    return Needs(
        {task: list(names) for task, names in missing.items() if names},
        {task: list(names) for task, names in fetched.items() if names},
        list(absent),
    )


def _is_address(name: str) -> bool:
    return "://" in name


def _paths(name: str) -> List[str]:
    """Of the files that the readers `joined` and `slice` find behind a name, and of others that behind itself."""
    return expand(parse(name).file)


def found_at(path: str) -> List[Path]:
    """The files and folders behind a path or a pattern."""
    return [Path(name) for name in matching(path)]


def _absent(path: str) -> List[str]:
    """What of a path or a pattern is not there, or empty."""
    found = found_at(path)
    if not found:
        return [path]
    return [f"{file} ({'empty' if file.exists() else 'leads nowhere'})" for file in found if not _holds(file)]


def _holds(path: Path) -> bool:
    if path.is_dir():
        return any(path.iterdir())
    return path.exists() and path.stat().st_size > 0  # a link may lead nowhere


def missing_programs(task: str) -> List[str]:
    """Name the programs that a task needs and that are not there."""
    is_there = task != "srl" or shutil.which("perl") is not None
    return [] if is_there else ["the program perl, which runs the official script srl-eval.pl"]


def report(needs: Needs, scale: str, folder: str) -> str:
    """
    Set what is missing in one message, what several tasks miss once; empty where nothing is.

    # Parameters

    folder : of all data sets, as it was given.
    """
    tasks_of: Dict[str, List[str]] = {}
    for task, names in needs.missing.items():
        for name in names:
            tasks_of.setdefault(name, []).append(task)
    groups: Dict[Tuple[str, ...], List[str]] = {}
    for name, tasks in tasks_of.items():
        groups.setdefault(tuple(tasks), []).append(name)
    lines: List[str] = []
    for group, names in groups.items():
        lines += [f"{', '.join(group)}: missing", *(f"  {name}" for name in sorted(names))]
    if scale == "paper":
        lines += [f"{task}: {SOURCES[task]}" for task in needs.missing]
    elif any(name not in needs.vectors for name in tasks_of):
        lines.append(f"{_OPEN} Their folder is {folder!r}; --data names another one.")
    for path in needs.vectors if scale == "small" else ():
        corpus = shlex.quote(f"{folder}/lm/train-*.txt.gz")
        lines.append(f"The word vectors are made by: allennlp elmo-tables vectors {corpus} -o {shlex.quote(path)}")
    return "\n".join(lines)
