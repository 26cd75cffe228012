"""`allennlp elmo-vocabulary`: count the words of a text and write the vocabulary of a language model."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from overrides import overrides


@Subcommand.register("elmo-vocabulary")
class ElmoVocabulary(Subcommand):
    """Write the vocabulary of a language model: <S>, </S>, <UNK>, then the words by falling counts."""

    requires_plugins = False

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        subparser.add_argument("corpus", nargs="+", help="files, folders or patterns: one tokenised sentence a line")
        subparser.add_argument("-o", "--output", type=Path, required=True, help="file to write, one word a line")
        subparser.add_argument("--max-size", type=int, help="most words to keep, the three special ones included")
        subparser.add_argument("--min-count", type=int, default=1, help="least count of a word (default: 1)")
        subparser.set_defaults(func=vocabulary_from_args)
        return subparser


def vocabulary_from_args(args: argparse.Namespace) -> None:
    """Build, write and report."""
    from elmo_plugin.adapters.outputs import check_output
    from elmo_plugin.corpus.text import Corpus
    from elmo_plugin.corpus.vocabulary import build_vocabulary, write_vocabulary
    from elmo_plugin.formats.atomic import replacing

    corpus = Corpus(args.corpus)
    check_output(args.output, corpus.files)
    report = build_vocabulary(corpus, args.max_size, args.min_count)
    with replacing(args.output) as part:
        write_vocabulary(report.words, part)
    unknown = report.tokens - report.covered_tokens
    print(f"lines           {report.lines:>15,}")
    print(f"sentences       {report.sentences:>15,}")
    print(f"tokens          {report.tokens:>15,}")
    print(f"distinct words  {report.types:>15,}")
    print(f"vocabulary      {len(report.words):>15,}   in {args.output}, with <S>, </S>, <UNK>")
    print(f"coverage        {100 * report.coverage:>14.2f}%   {unknown:,} tokens are unknown words")
