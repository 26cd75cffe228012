"""The `allennlp` program with this plugin loaded first: `elmo-plugin train ...`, `python -m elmo_plugin train ...`."""

import sys

import elmo_plugin  # noqa: F401  applies compat before AllenNLP imports what that cures
from elmo_plugin.commands import INTERRUPTED


def run() -> None:
    """Run `allennlp` with the arguments of this process."""
    from allennlp.__main__ import run as run_allennlp

    try:
        run_allennlp()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
