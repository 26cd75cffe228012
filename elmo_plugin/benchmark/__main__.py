"""`python -m elmo_plugin.benchmark`: the benchmark where AllenNLP's command line is not installed."""

import argparse
import sys
from typing import Optional, Sequence

from elmo_plugin.benchmark.arguments import add_arguments


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m elmo_plugin.benchmark", description=DESCRIPTION)
    add_arguments(parser)
    from elmo_plugin.benchmark.runner import main as run

    return run(parser.parse_args(arguments))


DESCRIPTION = "Measure how fast this engine is beside AllenNLP and others that give the same vectors."

if __name__ == "__main__":
    sys.exit(main())
