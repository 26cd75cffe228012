"""`allennlp elmo-convert`: any biLM into another format, with a check that nothing was lost on the way."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Optional, Sequence

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from elmo_plugin.formats.weight_set import WeightSet

# What storing may cost in a number of a layer; with float32 nothing is lost.
TOLERANCES = {"float32": 1e-6, "float16": 1e-2, "bfloat16": 1e-1}
DTYPE = "float32"


@Subcommand.register("elmo-convert")
class ElmoConvert(Subcommand):
    """Describe a biLM, or write it in another format: hdf5 with options.json, or safetensors."""

    requires_plugins = False

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        subparser.add_argument("source", help="a name, a URL, a file, a folder, a zip file or a trained model")
        subparser.add_argument(
            "target", nargs="?", help="file to write: .hdf5, with the options beside it, or .safetensors"
        )
        subparser.add_argument("--options-file", help="options.json of the source, where it is not beside it")
        subparser.add_argument(
            "--include-softmax", action="store_true", help="write the softmax of the language model too"
        )
        subparser.add_argument(
            "--dtype",
            choices=list(TOLERANCES),
            help=f"numbers in a safetensors file (default: {DTYPE})",
        )
        subparser.add_argument("--force", action="store_true", help="replace files that exist")
        subparser.add_argument("--describe", action="store_true", help="print what the source is")
        subparser.add_argument(
            "--verify",
            action="store_true",
            help="run text through the source and the file written, print the largest difference of each layer, and "
            "leave with exit code 1 where it is too large",
        )
        subparser.add_argument("--text", type=Path, help="with --verify: tokenised sentences, one a line")
        subparser.add_argument(
            "--tolerance", type=float, help=f"with --verify: largest difference allowed (default: {TOLERANCES})"
        )
        subparser.set_defaults(func=convert_from_args)
        return subparser


def convert_from_args(args: argparse.Namespace) -> None:
    """Describe, convert and verify, as asked for."""
    from elmo_plugin.formats import read_pair, read_weights, write_weights
    from elmo_plugin.formats.description import describe
    from elmo_plugin.formats.sources import locate, locate_pair

    _check(args)
    sentences = _sentences(args.text) if args.verify else ()
    if args.options_file is None:
        weights = read_weights(args.source)
        _, path = locate(args.source)
    else:
        weights = read_pair(args.options_file, args.source)
        _, path = locate_pair(args.options_file, args.source)
    if args.describe:
        for heading, text in describe(path, weights):
            print(f"{heading + ':':<13}{text}")
    if args.target is None:
        return
    target = Path(args.target).expanduser()
    kept = weights if args.include_softmax else _without_softmax(weights)
    dtype = args.dtype or DTYPE
    write_weights(kept, target, dtype)
    print(f"{args.target}: written")
    if weights.softmax is not None and not args.include_softmax:
        print("The softmax of the language model is left out; --include-softmax keeps it.")
    if args.verify:
        tolerance = TOLERANCES[dtype] if args.tolerance is None else args.tolerance
        _verify(weights, target, sentences, tolerance)


def _check(args: argparse.Namespace) -> None:
    """Refuse what asks for nothing, or for what would not be looked at."""
    if args.target is None:
        if not args.describe:
            raise ConfigurationError("elmo-convert: name a target to write, or ask for --describe.")
        given = [name for name in ("verify", "force", "include_softmax", "dtype") if getattr(args, name)]
        if given:
            raise ConfigurationError(f"elmo-convert: --{given[0].replace('_', '-')} needs a target to write.")
    if not args.verify and (args.text is not None or args.tolerance is not None):
        raise ConfigurationError("elmo-convert: --text and --tolerance belong to --verify.")
    if args.target is not None:
        _check_target(Path(args.target).expanduser(), args)


def _check_target(target: Path, args: argparse.Namespace) -> None:
    """Refuse what cannot be written, to overwrite the source, and anything else unless that is wanted."""
    from elmo_plugin.formats import check_target
    from elmo_plugin.formats.beside import options_target
    from elmo_plugin.formats.sources import files_of

    check_target(target, args.dtype or DTYPE)
    written = [target] + ([options_target(target)] if target.suffix in (".hdf5", ".h5") else [])
    existing = [path for path in written if path.exists()]
    source = files_of(args.source, args.options_file) if existing else []
    for path in existing:
        if any(path.samefile(file) for file in source):
            raise ConfigurationError(f"{path}: belongs to the source, expected another file to write.")
    if existing and not args.force:
        raise ConfigurationError(f"{existing[0]}: exists. Name another target, or replace it with --force.")


def _without_softmax(weights: WeightSet) -> WeightSet:
    """Leave out the softmax, and the words that nothing else counts."""
    words = weights.vocabulary if weights.options.needs_vocabulary else None
    return replace(weights, softmax=None, vocabulary=words)


def _sentences(text: Optional[Path]) -> Sequence[Sequence[str]]:
    from elmo_plugin.formats.comparison import SENTENCES

    if text is None:
        return SENTENCES
    try:
        sentences = [line.split() for line in text.read_text(encoding="utf-8").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{text}: cannot be read as text in UTF-8 ({error}).") from error
    if not any(sentences):
        raise ConfigurationError(f"{text}: has no words, expected tokenised sentences, one a line.")
    return sentences


def _verify(weights: WeightSet, target: Path, sentences: Sequence[Sequence[str]], tolerance: float) -> None:
    """Print the largest difference of each layer; leave with exit code 1 where one is too large."""
    from elmo_plugin.formats import read_weights
    from elmo_plugin.formats.comparison import largest_differences

    differences = largest_differences(weights, read_weights(target, softmax=False), sentences)
    for layer, difference in enumerate(differences):
        print(f"layer {layer}: largest difference {difference:.3g}")
    if not all(difference <= tolerance for difference in differences):
        print(f"{target}: differs from {weights.source} by more than {tolerance:g}.")
        sys.exit(1)
    print(f"Within {tolerance:g} over {sum(map(len, sentences)):,} words.")
