"""`allennlp elmo-probes`: what the layers know of senses and parts of speech (tables 4, 5 and 6 of the paper)."""

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

if TYPE_CHECKING:
    from elmo_plugin.formats.weight_set import WeightSet
    from elmo_plugin.probes.senses_run import SenseTask

EXPERIMENTS = Path("experiments")
SEMCOR = "wsd/semcor"
# Of the senses alone, with the values they have where they are not given.
_FOR_SENSES: Dict[str, Any] = {
    "state": "reset",
    "backend": "auto",
    "cuda_device": -1,
    "train": None,
    "test": None,
    "sense_index": None,
}
_STATE = "of the senses: where each sentence starts (default: reset); parts of speech always with reset"
TRAIN, TEST = ("train_*.jsonl.gz", "verbs_train_*.jsonl.gz"), ("test_*.jsonl.gz",)


@Subcommand.register("elmo-probes")
class ElmoProbes(Subcommand):
    """Score the layers of biLMs on word senses and parts of speech, and print tables 4, 5 and 6 beside the paper's."""

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        add = subparser.add_argument
        add("--bilm", nargs="+", default=["builtin"], help="biLMs, a column of the tables each (default: builtin)")
        add("--tables", type=int, nargs="+", choices=(4, 5, 6), default=[4, 5, 6], help="default: all")
        add(
            "--data", default=os.environ.get("DATA", "data"), help="folder of all data sets (default: $DATA, else data)"
        )
        add("--train", nargs="+", metavar="FILE", help=f"words with senses to learn from (default: DATA/{SEMCOR})")
        add("--test", nargs="+", metavar="FILE", help=f"words with senses to test on (default: DATA/{SEMCOR})")
        add(
            "--sense-index", type=Path, help="WordNet's index.sense, for first senses (default: counts of the training)"
        )
        add("--seed", type=int, default=1, help="of the probes and of the random biLM (default: 1)")
        add("--state", choices=("reset", "warm"), help=_STATE)
        add("--backend", help="of the senses: how the LSTMs are computed (default: auto)")
        add("--cuda-device", type=int, help="GPU for the senses (default: -1, the CPU)")
        add(
            "--runs", type=Path, default=Path("runs/probes"), help="where results and tables are (default: %(default)s)"
        )
        subparser.set_defaults(func=probes_from_args, **_FOR_SENSES)
        return subparser


def probes_from_args(args: argparse.Namespace) -> None:
    """Run what has no result yet, print the tables, and write them."""
    from elmo_plugin.formats import read_weights
    from elmo_plugin.neighbors.library import load_faiss
    from elmo_plugin.probes.tables import lemma_table, sets_table, table

    parts = [part for part, numbers in (("senses", (4, 5)), ("tags", (6,))) if set(numbers) & set(args.tables)]
    task = None
    if "senses" in parts:
        load_faiss()
        task = _task(args)
    else:
        _refuse_for_senses(args)
    bilms: Dict[str, Dict[str, Any]] = {}
    for name in args.bilm:
        weights = read_weights(name, softmax=False)
        results = bilms.setdefault(name, {})
        for prefix, source in (("", name), ("random_", _random(args, weights))):
            if task is not None:
                results[f"{prefix}senses"] = _senses(args, source, task)
            if "tags" in parts:
                results[f"{prefix}tags"] = _tags(args, source)
    for number in sorted(set(args.tables)):
        more = {4: lemma_table, 5: sets_table}.get(number, lambda _: "")
        text = "\n".join(part for part in (table(number, bilms), more(bilms)) if part)
        print(f"Table {number}\n\n{text}")
        path = args.runs / f"table{number}.md"
        path.write_text(text, encoding="utf-8")
        print(f"{path}\n")


def _refuse_for_senses(args: argparse.Namespace) -> None:
    """Parts of speech are probed by an experiment, which says by itself how."""
    from allennlp.common.checks import ConfigurationError

    given = [name for name, default in _FOR_SENSES.items() if getattr(args, name) != default]
    if given:
        raise ConfigurationError(
            f"elmo-probes: --{given[0].replace('_', '-')} is for the senses, but only table 6 is asked for. Leave it "
            f"out; how parts of speech are probed stands in {EXPERIMENTS}/probes/tags.jsonnet."
        )


def _task(args: argparse.Namespace) -> "SenseTask":
    from elmo_plugin.probes.first_sense import read_sense_index
    from elmo_plugin.probes.senses import read_sense_texts
    from elmo_plugin.probes.senses_run import SenseTask

    folder = Path(args.data) / SEMCOR
    train = read_sense_texts(args.train or [str(folder / name) for name in TRAIN])
    test: List[str] = args.test or [str(folder / name) for name in TEST]
    wordnet = None if args.sense_index is None else read_sense_index(args.sense_index)
    names = [Path(pattern).name for pattern in test]
    # Two files of one name are told apart by their folders.
    tests = {
        pattern if names.count(name) > 1 else name: read_sense_texts([pattern]) for name, pattern in zip(names, test)
    }
    return SenseTask(train, tests, wordnet)


def _random(args: argparse.Namespace, weights: "WeightSet") -> str:
    """Write a random biLM of the same shape, where it is not there, and return where."""
    import hashlib

    from elmo_plugin.formats import write_weights
    from elmo_plugin.probes.random_bilm import random_bilm

    shape = json.dumps([weights.options.to_dict(), weights.vocabulary], sort_keys=True)
    name = hashlib.sha256(shape.encode()).hexdigest()[:10]
    path: Path = args.runs / f"random-{name}-{args.seed}.safetensors"
    if not path.exists():
        write_weights(random_bilm(weights, args.seed), path)
    return str(path)


def _senses(args: argparse.Namespace, source: str, task: "SenseTask") -> Dict[str, Any]:
    from elmo_plugin.elmo_embedder import ElmoEmbedder
    from elmo_plugin.probes.senses_run import run_senses

    embedder = ElmoEmbedder(weights=source, state=args.state, backend=args.backend, cuda_device=args.cuda_device)
    sentences = embedder.sentences("all")
    name = f"senses-{sentences.fingerprint()[:10]}-{task.digest()[:10]}"
    say = _sayer(f"{source}, senses")
    return _kept(args.runs / f"{name}.json", lambda: run_senses(task, sentences, say))


def _tags(args: argparse.Namespace, source: str) -> Dict[str, Any]:
    from elmo_plugin.probes.tags_run import CONFIG, run_tags
    from elmo_plugin.reproduction import cells, training

    variables = {"DATA": args.data, "BILM": source}
    config = EXPERIMENTS / CONFIG
    folder = args.runs / f"tags-{cells.fingerprint(config, variables)}" / str(args.seed)
    run = training.Run(config, args.seed, folder, variables)
    return _kept(folder.parent / f"{args.seed}.json", lambda: run_tags(run))


def _kept(path: Path, compute: Callable[[], Dict[str, Any]]) -> Dict[str, Any]:
    """Read a result, or compute it once."""
    from elmo_plugin.formats.atomic import replacing

    if not path.exists():
        content = json.dumps(compute(), indent=1)
        with replacing(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
    found: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _sayer(name: str) -> Callable[[str], None]:
    return lambda what: print(f"{name}: {what}", flush=True)
