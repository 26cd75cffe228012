"""`allennlp elmo-tables`: run, collect and print the tables of Peters et al. (2018)."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

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
        export = actions.add_parser("export", help="copy what a table is computed from, to publish it")
        of_cells = {run: run_from_args, show: show_from_args, check: check_from_args, export: export_from_args}
        for action, function in of_cells.items():
            _add_cells(action)
            action.set_defaults(func=function)
        export.add_argument("--to", type=Path, required=True, help="the folder that can then be the --runs of `show`")
        items = actions.add_parser("items", help="score each item by a trained model, for the test over items")
        items.add_argument("folder", type=Path, help="of a finished training")
        items.add_argument("--split", choices=("test", "development"), default="test", help="default: %(default)s")
        items.set_defaults(func=items_from_args)
        items.add_argument("--data", help="where the data of that part are by now (default: where they were)")
        run.add_argument("--seeds", type=_positive, default=1, metavar="N", help="train each cell N times (default: 1)")
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
    parser.add_argument("--tasks", type=_names, help="separated by commas; default: all of the table")
    parser.add_argument(
        "--data", default=os.environ.get("DATA", "data"), help="folder of all data sets (default: data)"
    )
    parser.add_argument(
        "--bilm", help="a biLM (default: builtin at the small scale, original, which is the paper's, at its own)"
    )
    parser.add_argument(
        "--tuned",
        type=_names,
        default=[],
        metavar="TASKS",
        help="of these tasks: first tune the biLM on their text, as table 7 does (default: none)",
    )
    parser.add_argument("--vectors", help=f"word vectors of the small scale (default: {RUNS}/vectors.txt)")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where all runs and tables are (default: %(default)s)")


def variables_of(args: argparse.Namespace) -> Dict[str, str]:
    """The variables that the experiments read."""
    from elmo_plugin.formats import pretrained, read_options

    vectors = args.vectors or os.environ.get("VECTORS") or str(RUNS / "vectors.txt")
    trees = os.environ.get("SST_DATA") or str(Path(args.data) / "sst")
    bilm = _bilm_of(args)
    variables = {"SCALE": args.scale, "DATA": args.data, "SST_DATA": trees, "BILM": bilm, "VECTORS": vectors}
    # a name says the width, but not the archive of a tuned biLM, which takes its place
    if bilm not in pretrained.names() or _has_tunings(args):
        variables["BILM_DIM"] = str(2 * read_options(bilm)[0].lstm.projection_dim)
    return variables


def _has_tunings(args: argparse.Namespace) -> bool:
    from elmo_plugin.reproduction import tunings

    return bool(args.tuned) or args.table == tunings.TABLE


def _bilm_of(args: argparse.Namespace) -> str:
    """A name; the whole path of a file, however it was given: it is in the names of trainings and tables."""
    from elmo_plugin.formats import pretrained

    bilm = args.bilm or os.environ.get("BILM") or ("builtin" if args.scale == "small" else "original")
    is_file = bilm not in pretrained.names() and os.path.exists(bilm)
    return os.path.abspath(bilm) if is_file else bilm


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}, expected 1 or more")
    return int(text)


def _names(text: str) -> List[str]:
    return [name.strip() for name in text.split(",")]


def _plan_of(
    args: argparse.Namespace,
    seeds: Optional[Sequence[int]],
    tasks: Optional[Sequence[str]],
    cache: Optional[Path] = None,
) -> Any:
    from elmo_plugin.engine.errors import EngineError
    from elmo_plugin.reproduction import tunings
    from elmo_plugin.reproduction.cells import CellError, cells_of
    from elmo_plugin.reproduction.tables import Plan

    try:
        folder, variables = args.runs / args.scale, variables_of(args)
        if args.table == tunings.TABLE:
            if args.tuned:
                sys.exit(f"--tuned is for the other tables: {tunings.TABLE} has each task with both biLMs.")
            return tunings.TuningPlan(tunings.tunings_of(EXPERIMENTS, tasks), seeds, variables, folder, cache)
        tuned = _tuned(args, variables, folder)
        return Plan(cells_of(args.table, EXPERIMENTS, tasks), seeds, variables, folder, cache, tuned)
    except (CellError, EngineError) as error:  # the second one is about the biLM
        sys.exit(str(error))


def _tuned(args: argparse.Namespace, variables: Mapping[str, str], folder: Path) -> Dict[str, Any]:
    from elmo_plugin.reproduction import tunings
    from elmo_plugin.reproduction.cells import CellError, cells_of

    if args.tuned and args.table == "figure1":
        sys.exit("--tuned is not for figure1: the biLM would have read all of the text that its points have a part of.")
    try:
        cells_of(args.table, EXPERIMENTS, args.tuned)  # refuses tasks that are none of the table's
        return tunings.tuned_bilms(EXPERIMENTS, args.tuned, variables, folder)
    except CellError as error:
        raise CellError(f"--tuned {','.join(args.tuned)}: {error}") from error


def check_from_args(args: argparse.Namespace) -> None:
    """List the experiments, or report what is missing; the exit code is 1 where there is any."""
    plan = _plan_of(args, None, args.tasks)
    _stop_where_something_is_missing(plan, args)
    print(f"all data of {len(plan.experiments())} experiments are there, or public:")
    for _, config in plan.experiments():
        print(f"  {config}")


def run_from_args(args: argparse.Namespace) -> None:
    """Train, then show."""
    from elmo_plugin.reproduction.tables import run_missing

    if args.cache is not None and args.scale != "small":
        sys.exit("--cache needs a biLM whose state is reset, as at the small scale; at the paper's it is carried.")
    plan = _plan_of(args, range(1, args.seeds + 1), args.tasks, args.cache)
    _stop_where_something_is_missing(plan, args)
    failures = run_missing(plan.jobs(), print)
    show_from_args(args)
    if failures:
        sys.exit("failed:\n" + "\n".join(failures))


def show_from_args(args: argparse.Namespace) -> None:
    """Print what there is, of all seeds, and write the whole table as Markdown, CSV, LaTeX and PNG."""
    from rich.console import Console

    from elmo_plugin.reproduction import tunings
    from elmo_plugin.reproduction.cells import CellError, check_tasks
    from elmo_plugin.reproduction.report import report
    from elmo_plugin.reproduction.results import collect
    from elmo_plugin.reproduction.tuning_sheet import collect_tunings

    plan = _plan_of(args, None, None)
    try:
        check_tasks(args.table, args.tasks, [task for task, _ in plan.experiments()])
    except CellError as error:
        sys.exit(str(error))
    rows = collect_tunings(plan) if args.table == tunings.TABLE else collect(plan)
    bilm, folder, tuned = _bilm_of(args), args.runs / args.scale, sorted(set(args.tuned))
    for path in report(args.table, rows, args.scale, bilm, folder, Console(), args.tasks, tuned):
        print(path)


def export_from_args(args: argparse.Namespace) -> None:
    """Copy the records of the finished trainings, of all seeds."""
    from elmo_plugin.reproduction.outcome import TrainingError
    from elmo_plugin.reproduction.recorder import ItemsError
    from elmo_plugin.reproduction.records import RecordsError, export

    try:
        copies = export(_plan_of(args, None, args.tasks), args.to / args.scale)
    except (RecordsError, TrainingError, ItemsError) as error:
        sys.exit(str(error))
    print(f"{len(copies)} trainings in {args.to / args.scale}")


def items_from_args(args: argparse.Namespace) -> None:
    """Score the items, and say what they come to."""
    from elmo_plugin.reproduction.items import evaluate, path_of
    from elmo_plugin.reproduction.outcome import TrainingError
    from elmo_plugin.reproduction.recorder import ItemsError

    try:
        items = evaluate(args.folder, args.split, args.data)
    except (ItemsError, TrainingError) as error:
        sys.exit(str(error))
    path = path_of(args.folder, args.split)
    print(f"{len(items.numbers):,} items, {items.score} {100 * items.corpus_score():.1f}: {path}")


def vectors_from_args(args: argparse.Namespace) -> None:
    """Train and write word vectors."""
    from elmo_plugin.reproduction.word_vectors import train_vectors

    try:
        print(f"{train_vectors(args.corpus, args.output):,} words in {args.output}")
    except ImportError as error:
        sys.exit(str(error))


def _stop_where_something_is_missing(plan: Any, args: argparse.Namespace) -> None:
    from elmo_plugin.engine.errors import EngineError
    from elmo_plugin.reproduction import data_sets, tunings
    from elmo_plugin.reproduction.cells import CellError

    try:
        if _has_tunings(args):
            tunings.check_bilm(_bilm_of(args))
    except (CellError, EngineError) as error:
        sys.exit(str(error))
    problems: Dict[str, Dict[str, None]] = {}
    for task, config in plan.experiments():
        missing = data_sets.missing_programs(task) + data_sets.missing(config, plan.variables)
        problems.setdefault(task, {}).update(dict.fromkeys(missing))
    found = {task: list(names) for task, names in problems.items() if names}
    if found:
        sys.exit(data_sets.report(found, args.scale))
