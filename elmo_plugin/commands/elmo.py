"""`allennlp elmo`: the vectors of a text, in the layout of AllenNLP 0.9's command of this name."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from overrides import overrides


@Subcommand.register("elmo")
class Elmo(Subcommand):
    """Write the ELMo vectors of a text, one tokenised sentence a line, in bounded memory; goes on when interrupted."""

    requires_plugins = False

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        subparser.add_argument("input_file", help="text, also gzipped; - for standard input")
        subparser.add_argument("output_file", help="file to write; replaced when the new one is whole")
        _add_layers(subparser.add_mutually_exclusive_group(required=True))
        _add_bilm(subparser)
        _add_output(subparser)
        subparser.set_defaults(func=embed_from_args)
        return subparser


def _add_layers(group: argparse._MutuallyExclusiveGroup) -> None:
    group.add_argument("--all", dest="layers", action="store_const", const="all", help="all layers of the biLM")
    group.add_argument("--top", dest="layers", action="store_const", const="top", help="the last layer")
    group.add_argument("--average", dest="layers", action="store_const", const="average", help="the mean of all layers")
    group.add_argument("--layers", help='one layer ("0" is the token layer), or several ("0,2")')


def _add_bilm(subparser: argparse.ArgumentParser) -> None:
    group = subparser.add_argument_group("the biLM")
    group.add_argument(
        "--weights",
        help='a name ("builtin" needs no network), a file, a folder, an archive or a URL (default: original)',
    )
    group.add_argument("--options-file", help="with --weight-file: the old way to name the biLM")
    group.add_argument("--weight-file", help="with --options-file: the old way to name the biLM")
    group.add_argument(
        "--state",
        choices=("carried", "reset", "warm"),
        default="carried",
        help="where a sentence starts: where an earlier one ended (as in 0.9), at zero, or at one fixed state; with "
        "the last two its vectors depend on nothing else (default: carried)",
    )
    group.add_argument("--backend", default="auto", help="how the LSTMs are computed (default: auto)")
    group.add_argument("--precision", default="float32", help="float32, float16 or int8 (default: float32)")
    group.add_argument("--cuda-device", type=int, default=-1, help="GPU to run on (default: -1, the CPU)")
    group.add_argument(
        "--batch-size", type=int, help="sentences in a batch, at most (default: 64 with carried state, else no limit)"
    )
    group.add_argument("--batch-tokens", type=int, help="tokens in a batch, at most (default: by the device)")


def _add_output(subparser: argparse.ArgumentParser) -> None:
    group = subparser.add_argument_group("input and output")
    group.add_argument("--format", default="hdf5", help="hdf5, safetensors, parquet or npz (default: hdf5)")
    group.add_argument("--use-sentence-keys", action="store_true", help="name datasets by sentence, not by line number")
    group.add_argument("--forget-sentences", action="store_true", help="leave out the map from sentences to numbers")
    group.add_argument("--errors", default="strict", help="strict, or replace what is not UTF-8 (default: strict)")
    group.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    group.add_argument("--file-friendly-logging", action="store_true", help="progress in lines, not as a bar")


def embed_from_args(args: argparse.Namespace) -> None:
    """Embed, and say what was written."""
    from elmo_plugin.elmo_embedder import ElmoEmbedder, weight_files
    from elmo_plugin.embedding.progress import ProgressDisplay
    from elmo_plugin.embedding.run import embed_text
    from elmo_plugin.embedding.targets import Target, check_target
    from elmo_plugin.embedding.writers import Keys

    keys = Keys(args.use_sentence_keys, not args.forget_sentences)
    target = Target(Path(args.output_file), args.format, keys, args.resume)
    check_target(args.input_file, target, weight_files(args.options_file, args.weight_file, args.weights))
    embedder = ElmoEmbedder(
        args.options_file,
        args.weight_file,
        args.cuda_device,
        weights=args.weights,
        state=args.state,
        backend=args.backend,
        precision=args.precision,
    )
    with ProgressDisplay(as_lines=args.file_friendly_logging) as show:
        done = embed_text(
            args.input_file,
            target,
            embedder.sentences(args.layers, args.batch_tokens, args.batch_size),
            args.errors,
            on_progress=show,
        )
    print(f"{done.lines:,} lines, {done.tokens:,} tokens in {args.output_file}")
