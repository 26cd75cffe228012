"""`allennlp elmo-tables`: run, collect and print the tables of Peters et al. (2018)."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Dict, List

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

EXPERIMENTS = Path("experiments")
RUNS = Path("runs/tables")


@Subcommand.register("elmo-tables")
class ElmoTables(Subcommand):
    """Run the cells of a table of the ELMo paper, and print our scores beside the paper's."""

    requires_plugins = False

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        actions = subparser.add_subparsers(dest="action", required=True)
        run = actions.add_parser("run", help="train what is missing, then print the table")
        show = actions.add_parser("show", help="print what there is")
        check = actions.add_parser("check", help="say which data are missing and where to get them")
        for action, function in ((run, run_from_args), (show, show_from_args), (check, check_from_args)):
            _add_cells(action)
            action.set_defaults(func=function)
        items = actions.add_parser("items", help="score each item by a trained model, for the test over items")
        items.add_argument("folder", type=Path, help="of a finished training")
        items.add_argument("--split", choices=("test", "development"), default="test", help="default: %(default)s")
        items.set_defaults(func=items_from_args)
        run.add_argument("--cache", type=Path, help="keep the layers of the biLM in this folder, for all runs")
        vectors = actions.add_parser("vectors", help="train the word vectors of the small scale (needs gensim)")
        vectors.add_argument("corpus", help="the text: one tokenised sentence a line; files, a folder or a pattern")
        vectors.add_argument("-o", "--output", type=Path, default=RUNS / "vectors.txt", help="default: %(default)s")
        vectors.set_defaults(func=vectors_from_args)
        return subparser


def _add_cells(parser: argparse.ArgumentParser) -> None:
    from elmo_plugin.reproduction import tunings
    from elmo_plugin.reproduction.cells import SCALES, TABLES

    parser.add_argument("table", choices=(*TABLES, tunings.TABLE))
    parser.add_argument("--scale", choices=SCALES, default="small", help="default: small, for open data and two cores")
    parser.add_argument("--tasks", help="separated by commas; default: all of the table")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="train each cell N times (default: 1)")
    parser.add_argument(
        "--data", default=os.environ.get("DATA", "data"), help="folder of all data sets (default: data)"
    )
    parser.add_argument("--bilm", default=os.environ.get("BILM", "builtin"), help="a biLM (default: builtin)")
    parser.add_argument("--vectors", help=f"word vectors of the small scale (default: {RUNS}/vectors.txt)")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where all runs and tables are (default: %(default)s)")


def variables_of(args: argparse.Namespace) -> Dict[str, str]:
    """The variables that the experiments read."""
    from elmo_plugin.formats import pretrained, read_options
    from elmo_plugin.reproduction import tunings

    vectors = args.vectors or os.environ.get("VECTORS") or str(RUNS / "vectors.txt")
    trees = os.environ.get("SST_DATA") or str(Path(args.data) / "sst")
    variables = {"SCALE": args.scale, "DATA": args.data, "SST_DATA": trees, "BILM": args.bilm, "VECTORS": vectors}
    # a name says the width, but not the archive of a tuned biLM, which takes its place
    if args.bilm not in pretrained.names() or args.table == tunings.TABLE:
        variables["BILM_DIM"] = str(2 * read_options(args.bilm)[0].lstm.projection_dim)
    return variables


def _plan_of(args: argparse.Namespace, cache: Any = None) -> Any:
    from elmo_plugin.reproduction import tunings
    from elmo_plugin.reproduction.cells import CellError, cells_of
    from elmo_plugin.reproduction.tables import Plan

    tasks = args.tasks.split(",") if args.tasks else None
    common = (range(1, args.seeds + 1), variables_of(args), args.runs / args.scale, cache)
    try:
        if args.table == tunings.TABLE:
            tunings.check_bilm(args.bilm)
            return tunings.TuningPlan(tunings.tunings_of(EXPERIMENTS, tasks), *common)
        return Plan(cells_of(args.table, EXPERIMENTS, tasks), *common)
    except CellError as error:
        sys.exit(str(error))


def check_from_args(args: argparse.Namespace) -> None:
    """Report missing data; the exit code is 1 where there are any."""
    plan = _plan_of(args)
    problems = _problems(plan)
    if problems:
        _stop(problems, args.scale)
    print(f"all data of {len(plan.experiments())} cells are there, or public")


def run_from_args(args: argparse.Namespace) -> None:
    """Train, then show."""
    from elmo_plugin.reproduction.tables import run_missing

    if args.cache is not None and args.scale != "small":
        sys.exit("--cache needs a biLM whose state is reset, as at the small scale; at the paper's it is carried.")
    plan = _plan_of(args, args.cache)
    problems = _problems(plan)
    if problems:
        _stop(problems, args.scale)
    failures = run_missing(plan.jobs(), print)
    show_from_args(args)
    if failures:
        sys.exit("failed:\n" + "\n".join(failures))


def show_from_args(args: argparse.Namespace) -> None:
    """Print what there is, and write it as Markdown, CSV, LaTeX and PNG."""
    from rich.console import Console

    from elmo_plugin.reproduction import tunings
    from elmo_plugin.reproduction.report import report
    from elmo_plugin.reproduction.results import collect
    from elmo_plugin.reproduction.tuning_sheet import collect_tunings

    plan = _plan_of(args)
    rows = collect_tunings(plan) if args.table == tunings.TABLE else collect(plan)
    for path in report(args.table, rows, args.scale, args.bilm, args.runs / args.scale, Console()):
        print(path)


def items_from_args(args: argparse.Namespace) -> None:
    """Score the items, and say what they come to."""
    from elmo_plugin.reproduction.items import evaluate, path_of

    items = evaluate(args.folder, args.split)
    path = path_of(args.folder, args.split)
    print(f"{len(items.numbers):,} items, {items.score} {100 * items.corpus_score():.1f}: {path}")


def vectors_from_args(args: argparse.Namespace) -> None:
    """Train and write word vectors."""
    from elmo_plugin.reproduction.word_vectors import train_vectors

    print(f"{train_vectors(args.corpus, args.output):,} words in {args.output}")


def _problems(plan: Any) -> Dict[str, List[str]]:
    from elmo_plugin.reproduction.data_sets import missing

    problems: Dict[str, List[str]] = {}
    for task, config in plan.experiments():
        paths = [path for path in missing(config, plan.variables) if path not in problems.get(task, [])]
        if paths:
            problems.setdefault(task, []).extend(paths)
    return problems


def _stop(problems: Dict[str, List[str]], scale: str) -> None:
    from elmo_plugin.reproduction.data_sets import report

    sys.exit(report(problems, scale))
