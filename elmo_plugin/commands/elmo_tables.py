"""`allennlp elmo-tables`: run, collect and print the tables of Peters et al. (2018)."""

import argparse
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Iterator, List, Optional, Sequence

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from elmo_plugin.commands import INTERRUPTED

if TYPE_CHECKING:
    from elmo_plugin.reproduction.planning import Request
    from elmo_plugin.reproduction.report import Rows

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
        show = actions.add_parser("show", help="print what there is; with --to, write it")
        check = actions.add_parser("check", help="say which data are missing and where to get them")
        export = actions.add_parser("export", help="copy what a table is computed from, to publish it")
        of_cells = {run: run_from_args, show: show_from_args, check: check_from_args, export: export_from_args}
        for action, function in of_cells.items():
            _add_cells(action)
            action.set_defaults(func=function)
        export.add_argument("--to", type=Path, required=True, help="the folder that can then be the --runs of `show`")
        show.add_argument("--to", type=Path, help="also write the table below this folder, as `run` does below --runs")
        items = actions.add_parser("items", help="score each item by a trained model, for the test over items")
        items.add_argument("folder", type=Path, help="of a finished training")
        items.add_argument("--split", choices=("test", "development"), default="test", help="of the data")
        items.set_defaults(func=items_from_args)
        items.add_argument("--data", help="where the data of that part are by now (default: where they were)")
        run.add_argument("--seeds", type=_positive, default=1, metavar="N", help="train each cell N times")
        run.add_argument("--cache", type=Path, help="keep the layers of the biLM in this folder, for all runs")
        vectors = actions.add_parser("vectors", help="train the word vectors of the small scale (needs gensim)")
        vectors.add_argument("corpus", help="the text: one tokenised sentence a line; files, a folder or a pattern")
        vectors.add_argument("-o", "--output", type=Path, default=RUNS / "vectors.txt", help="the file")
        vectors.set_defaults(func=vectors_from_args)
        return subparser


def _add_cells(parser: argparse.ArgumentParser) -> None:
    from elmo_plugin.reproduction import tunings
    from elmo_plugin.reproduction.cells import SCALES, TABLES

    parser.add_argument("table", choices=(*TABLES, tunings.TABLE))
    parser.add_argument("--scale", choices=SCALES, default="small", help="small: open data and two cores")
    parser.add_argument("--tasks", type=_names, help="separated by commas; default: all of the table")
    parser.add_argument(
        "--data", default=os.environ.get("DATA", "data"), help="folder of all data sets; the variable DATA has one too"
    )
    parser.add_argument(
        "--bilm", help="a biLM (default: builtin at the small scale, original, which is the paper's, at its own)"
    )
    parser.add_argument(
        "--tuned",
        type=_names,
        default=[],
        metavar="TASKS",
        help="of these tasks: first tune the biLM on their text, as table 7 does",
    )
    parser.add_argument("--vectors", help=f"word vectors of the small scale (default: {RUNS}/vectors.txt)")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where all runs and tables are")


def request_of(args: argparse.Namespace) -> "Request":
    """What is asked for; what is not said is in the environment, or has a default."""
    from elmo_plugin.formats import pretrained
    from elmo_plugin.reproduction.planning import Request

    if args.vectors is not None and args.scale != "small":
        sys.exit("--vectors is of the small scale: the paper's has GloVe and Senna, at addresses and in --data.")
    bilm = args.bilm or os.environ.get("BILM") or ("builtin" if args.scale == "small" else "original")
    # The whole path of a file, however it was given: it is in the names of trainings and tables.
    if bilm not in pretrained.names() and os.path.exists(bilm):
        bilm = os.path.abspath(bilm)
    return Request(
        args.table,
        args.scale,
        EXPERIMENTS,
        args.runs,
        bilm,
        args.data,
        trees=os.environ.get("SST_DATA") or str(Path(args.data) / "sst"),
        vectors=args.vectors or os.environ.get("VECTORS") or str(RUNS / "vectors.txt"),
        tuned=args.tuned,
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}, expected 1 or more")
    return int(text)


def _names(text: str) -> List[str]:
    return [name.strip() for name in text.split(",")]


@contextmanager
def _told() -> Iterator[None]:
    """End with the message of an error that is about what was asked for."""
    from elmo_plugin.engine.errors import EngineError
    from elmo_plugin.reproduction.cells import CellError

    try:
        yield
    except (CellError, EngineError) as error:  # the second one is about the biLM
        sys.exit(str(error))


def check_from_args(args: argparse.Namespace) -> None:
    """Say of each task whether all is there, and which seeds are done; the exit code is 1 where it is not."""
    from elmo_plugin.reproduction.survey import survey

    with _told():
        request = request_of(args)
        plan = request.plan(None, args.tasks)
        request.check_bilm()
        needs = request.needs(plan)
        lines = survey(plan, needs)
    for line in lines:
        print(line)
    problems = request.explain(needs)
    if problems:
        sys.exit(problems)


def run_from_args(args: argparse.Namespace) -> None:
    """Train, then show."""
    from elmo_plugin.reproduction.running import run_missing

    if args.cache is not None and args.scale != "small":
        sys.exit("--cache needs a biLM whose state is reset, as at the small scale; at the paper's it is carried.")
    with _told():
        request = request_of(args)
        plan = request.plan(range(1, args.seeds + 1), args.tasks, args.cache)
        request.check_bilm()
        jobs = plan.jobs()
        problems = request.explain(request.needs(plan, all_of_it=False))
    if problems:
        sys.exit(problems)
    try:
        failures = run_missing(jobs, print)
    except KeyboardInterrupt:
        print("interrupted: what is finished is kept, and the same command goes on with the rest", file=sys.stderr)
        sys.exit(INTERRUPTED)
    try:
        rows = _rows(request, args.tasks)
        _show(request, rows, args.tasks, args.runs)
    finally:
        if failures:
            print("failed:\n" + "\n".join(failures), file=sys.stderr)
    if failures:
        sys.exit(1)


def show_from_args(args: argparse.Namespace) -> None:
    """Print what there is, of all seeds; where it is asked for, write the whole table as `run` does."""
    from elmo_plugin.reproduction.cells import CellError
    from elmo_plugin.reproduction.outcome import METRICS

    with _told():
        request = request_of(args)
    rows = _rows(request, args.tasks)
    if not any(request.folder.glob(f"*/*/{METRICS}")):
        sys.exit(
            f"{request.folder}: no training in it, expected the folder of those of this scale; --runs names its parent"
        )
    _show(request, rows, args.tasks, args.to)
    try:
        others = request.other_tunings()
    except CellError:  # of an experiment that cannot be evaluated: the remarks of the table say which
        return
    if others:
        print(f"there are trainings with biLMs tuned for these tasks: --tuned {','.join(others)} shows them")


def _rows(request: "Request", tasks: Optional[Sequence[str]]) -> "Rows":
    from elmo_plugin.reproduction.report import rows_of

    with _told():
        return rows_of(request, tasks)


def _show(request: "Request", rows: "Rows", tasks: Optional[Sequence[str]], target: Optional[Path]) -> None:
    """Print these tasks of the table, and write the whole of it below the target, where there is one."""
    from rich.console import Console

    from elmo_plugin.reproduction.report import print_table, write_table

    console = Console()
    print_table(request, rows, console, tasks)
    if target is None:
        return
    try:
        paths = write_table(request, rows, target / request.scale, console)
    except OSError as error:
        sys.exit(f"the table was not written: {error}")
    for path in paths:
        print(path)


def export_from_args(args: argparse.Namespace) -> None:
    """Copy the records of the finished trainings, of all seeds."""
    from elmo_plugin.reproduction.outcome import TrainingError
    from elmo_plugin.reproduction.recorder import ItemsError
    from elmo_plugin.reproduction.records import RecordsError, export

    try:
        with _told():
            plan = request_of(args).plan(None, args.tasks)
            copies = export(plan, args.to / args.scale)
    except (RecordsError, TrainingError, ItemsError, OSError) as error:
        sys.exit(str(error))
    if not copies:
        sys.exit(
            f"{args.runs / args.scale}: no training of this table is finished and scored there: nothing was copied"
        )
    print(f"{len(copies)} training{'' if len(copies) == 1 else 's'} in {args.to / args.scale}")


def items_from_args(args: argparse.Namespace) -> None:
    """Score the items, and say what they come to."""
    from allennlp.common.checks import ConfigurationError

    from elmo_plugin.engine.errors import EngineError
    from elmo_plugin.reproduction.items import evaluate, path_of
    from elmo_plugin.reproduction.outcome import TrainingError
    from elmo_plugin.reproduction.recorder import ItemsError

    try:
        items = evaluate(args.folder, args.split, args.data)
    except (ItemsError, TrainingError, ConfigurationError, EngineError, OSError) as error:
        sys.exit(str(error))
    path = path_of(args.folder, args.split)
    print(f"{len(items.numbers):,} items, {items.score} {100 * items.corpus_score():.1f}: {path}")


def vectors_from_args(args: argparse.Namespace) -> None:
    """Train and write word vectors."""
    from elmo_plugin.engine.errors import EngineError
    from elmo_plugin.reproduction.word_vectors import train_vectors

    try:
        print(f"{train_vectors(args.corpus, args.output):,} words in {args.output}")
    except (ImportError, ValueError, EngineError, OSError) as error:
        sys.exit(str(error))
