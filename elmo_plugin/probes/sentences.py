"""
The sentences of texts with senses, a tokenised sentence a line, as `allennlp elmo-neighbors build` takes them:

    python -m elmo_plugin.probes.sentences 'semcor/*.jsonl.gz' > semcor.txt
"""

import argparse
import sys
from typing import Optional, Sequence

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.probes.senses import read_sense_texts


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """
    Write the sentences to standard output, in the order of the files.

    # Parameters

    arguments : of the program; None for those that it was called with.

    # Raises

    `SystemExit` with code 2 where a file is missing or is not what it should be.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="as for elmo-probes, or a pattern of files")
    args = parser.parse_args(arguments)
    try:
        text = read_sense_texts(args.files)
    except (EngineError, OSError) as error:
        parser.error(str(error))
    for sentence in text.sentences:
        sys.stdout.buffer.write((" ".join(sentence) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
