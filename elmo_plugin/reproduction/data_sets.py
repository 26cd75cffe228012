"""What the experiments read, whether it is there, and where to get it."""

import shutil
from pathlib import Path
from typing import Dict, List, Mapping, Sequence, Tuple

from elmo_plugin.adapters.patterns import matching
from elmo_plugin.dataset_readers.joined import expand
from elmo_plugin.dataset_readers.slice import parse
from elmo_plugin.reproduction.cells import resolve
from elmo_plugin.reproduction.data_checks import unsound
from elmo_plugin.reproduction.named import DATA, WEIGHTS, kind_of, named_in

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
SMALL = (
    "The small scale reads open data that do not come with this repository: docs/experiments.md lists their sources. "
    "Its word vectors are made by: allennlp elmo-tables vectors."
)


def _missing(named: Sequence[Tuple[str, str]]) -> List[str]:
    """The files and folders that are not there, or empty."""
    found = {path: found_at(path) for _, path in named}
    empty = {f"{file} (empty)" for files in found.values() for file in files if not _holds(file)}
    return sorted([*(path for path, files in found.items() if not files), *empty])


def _named(config: Path, variables: Mapping[str, str]) -> List[Tuple[str, str]]:
    """The paths of an experiment, each with its kind, but for those of biLMs; addresses are not looked at."""
    named = [(key, name) for key, name in named_in(resolve(config, variables)) if key != WEIGHTS and "://" not in name]
    return [(kind_of(key), path) for key, name in named for path in expand(parse(name).file)]


def found_at(path: str) -> List[Path]:
    """The files and folders behind a path or a pattern."""
    return [Path(name) for name in matching(path)]


def _holds(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0


def missing_programs(task: str) -> List[str]:
    """Name the programs that a task needs and that are not there."""
    is_there = task != "srl" or shutil.which("perl") is not None
    return [] if is_there else ["the program perl, which runs the official script srl-eval.pl"]


def missing_of(experiments: Sequence[Tuple[str, Path]], variables: Mapping[str, str]) -> Dict[str, List[str]]:
    """
    Name what experiments, each with its task, read or run that is not there, or that readers would take though it is
    wrong: by task, each once.
    """
    problems: Dict[str, Dict[str, None]] = {}
    data: Dict[Tuple[str, Path], None] = {}
    for task, config in experiments:
        named = _named(config, variables)
        problems.setdefault(task, {}).update(dict.fromkeys(missing_programs(task) + _missing(named)))
        data.update(dict.fromkeys((task, file) for kind, path in named if kind == DATA for file in found_at(path)))
    for task, file in data:
        if _holds(file):
            problems[task].update(dict.fromkeys(unsound(task, file)))
    return {task: list(names) for task, names in problems.items() if names}


def report(problems: Mapping[str, Sequence[str]], scale: str) -> str:
    """Set what is missing, by task, in one message."""
    lines: List[str] = []
    for task, paths in problems.items():
        lines += [f"{task}: missing", *(f"  {path}" for path in paths)]
        lines += [f"  {SOURCES[task]}"] if scale == "paper" else []
    return "\n".join([*lines, SMALL] if problems and scale == "small" else lines)
