"""`allennlp elmo-benchmark`: how fast this engine is beside AllenNLP's own ELMo and others."""

import argparse
import sys

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from elmo_plugin.benchmark.arguments import add_arguments


@Subcommand.register("elmo-benchmark")
class ElmoBenchmark(Subcommand):
    """Measure this engine beside AllenNLP's own ELMo; refuses to show a speed where the vectors differ."""

    requires_plugins = False

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        add_arguments(subparser)
        subparser.set_defaults(func=benchmark_from_args)
        return subparser


def benchmark_from_args(args: argparse.Namespace) -> None:
    """Run it and leave with its exit code."""
    from elmo_plugin.benchmark.runner import main

    sys.exit(main(args))
