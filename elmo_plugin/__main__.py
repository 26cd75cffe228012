"""The `allennlp` program with this plugin loaded first: `elmo-plugin train ...`, `python -m elmo_plugin train ...`."""

import elmo_plugin  # noqa: F401  applies compat before AllenNLP imports what that cures


def run() -> None:
    """Run `allennlp` with the arguments of this process."""
    from allennlp.__main__ import run as run_allennlp

    run_allennlp()


if __name__ == "__main__":
    run()
