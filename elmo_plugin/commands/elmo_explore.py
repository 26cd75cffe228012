"""`allennlp elmo-explore`: a page on this machine that shows what a biLM makes of sentences."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

PORT = 8050


@Subcommand.register("elmo-explore")
class ElmoExplore(Subcommand):
    """Serve a page on this machine alone: neighbours, similarities, senses and surprisal of the words of sentences."""

    requires_plugins = False

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        add = subparser.add_argument
        add(
            "--weights",
            help="the biLM: a name, a file, a folder, an archive or a URL (default: the index's, or builtin)",
        )
        add("--index", type=Path, help="folder of elmo-neighbors build (default: neighbours from the page's sentences)")
        add("--senses", nargs="+", default=[], metavar="FILE", help="texts with word senses, as elmo-probes reads them")
        add("--state", choices=("reset", "warm"), help="where each sentence starts (default: the index's, or warm)")
        add("--backend", default="auto", help="how the LSTMs are computed (default: auto)")
        add("--cuda-device", type=int, default=-1, help="GPU to run on (default: -1, the CPU)")
        add("--port", type=int, default=PORT, help="of 127.0.0.1; 0 for any that is free (default: %(default)s)")
        subparser.set_defaults(func=explore_from_args)
        return subparser


def explore_from_args(args: argparse.Namespace) -> None:
    """Load everything, and serve until interrupted."""
    from elmo_plugin.embedding.embedder import device_name
    from elmo_plugin.engine.errors import BackendUnavailableError
    from elmo_plugin.explorer.explorer import Choices, load

    try:
        from elmo_plugin.explorer._page.server import HOST, make_server
    except ImportError as error:
        raise BackendUnavailableError(
            f'the page needs {error.name or error}: pip install "elmo_plugin[explorer]".'
        ) from error

    device = device_name(args.cuda_device)
    explorer = load(Choices(args.weights, args.state, args.backend, device, args.index, args.senses))
    server = make_server(explorer, args.port)
    print(f"http://{HOST}:{server.effective_port}/ (Ctrl-C ends it)", flush=True)
    try:
        server.run()
    finally:
        server.close()
