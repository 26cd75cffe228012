"""`allennlp elmo-neighbors`: the tokens of a text that are nearest to a word in its sentence (Table 4 of the paper)."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, List, Optional

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

if TYPE_CHECKING:
    from elmo_plugin.neighbors.index import TokenIndex
    from elmo_plugin.neighbors.query import IndexQuery
    from elmo_plugin.neighbors.report import Found
    from elmo_plugin.probes.known_senses import KnownSenses


@Subcommand.register("elmo-neighbors")
class ElmoNeighbors(Subcommand):
    """Index the tokens of a text by their vectors, and find those nearest to a word in its sentence, layer by layer."""

    requires_plugins = False

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        actions = subparser.add_subparsers(dest="action", required=True)
        build = actions.add_parser("build", help="embed a text and index its tokens; goes on when interrupted")
        _add_build(build)
        build.set_defaults(func=build_from_args)
        query = actions.add_parser("query", help="print the nearest tokens of a marked word")
        _add_query(query)
        query.set_defaults(func=query_from_args)
        return subparser


def _add_build(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("corpus", help="text, also gzipped, one tokenised sentence a line; - for standard input")
    add("index", type=Path, help="folder to write")
    add(
        "--weights",
        default="builtin",
        help="the biLM: a name, a file, a folder, an archive or a URL (default: builtin)",
    )
    add("--state", choices=("reset", "warm"), default="reset", help="where each sentence starts (default: reset)")
    add("--precision", default="float32", help="of the products: float32, float16 or int8 (default: float32)")
    add("--dtype", default="float16", help="of the vectors on disk: float16 or float32 (default: float16)")
    add("--approximate", action="store_true", help="prepare approximate search too, and measure its recall")
    add("--resume", action="store_true", help="go on with a build that was interrupted")
    add("--errors", default="strict", help="strict, or replace what is not UTF-8 (default: strict)")
    add("--batch-tokens", type=int, help="tokens in a batch, at most (default: by the device)")
    add("--file-friendly-logging", action="store_true", help="progress in lines, not as a bar")
    _add_device(parser)


def _add_query(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("index", type=Path, help="folder that build has written")
    add("sentence", nargs="+", help="tokens between spaces, the word between asterisks: 'He *played* the part .'")
    add("--k", type=int, default=10, help="neighbours in each layer (default: 10)")
    add("--layers", type=int, nargs="+", help="layers to search (default: all; 0 is the static vector)")
    add("--approximate", action="store_true", help="look only into the cells nearest to the word")
    add("--cells", type=int, help="with --approximate: cells to look into (default: what the build found)")
    add("--weights", help="the biLM, where it is not where it was when the index was built")
    add("--senses", nargs="+", metavar="FILE", help="texts with word senses: say the senses of tokens that are in them")
    add("--json", action="store_true", help="print a line with a JSON object for each sentence")
    add("--markdown", action="store_true", help="print a table in Markdown")
    _add_device(parser)


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", default="auto", help="how the LSTMs are computed (default: auto)")
    parser.add_argument("--cuda-device", type=int, default=-1, help="GPU to run on (default: -1, the CPU)")


def build_from_args(args: argparse.Namespace) -> None:
    """Build, and say what was built."""
    from elmo_plugin.elmo_embedder import ElmoEmbedder
    from elmo_plugin.embedding.progress import ProgressDisplay
    from elmo_plugin.neighbors.build import IndexTarget, build_index, check_index_target

    target = IndexTarget(args.index, args.dtype, args.approximate, args.resume)
    check_index_target(args.corpus, target, args.state)
    embedder = ElmoEmbedder(
        cuda_device=args.cuda_device,
        weights=args.weights,
        state=args.state,
        backend=args.backend,
        precision=args.precision,
    )
    sentences = embedder.sentences("all", args.batch_tokens)
    with ProgressDisplay(as_lines=args.file_friendly_logging) as show:
        about = build_index(args.corpus, target, sentences, args.weights, args.errors, on_progress=show)
    print(f"{about['lines']:,} lines, {about['tokens']:,} tokens in {args.index}")
    for layer, found in about["approximate"].items():
        print(
            f"layer {layer}: {found['looked_into']:,} of {found['cells']:,} cells find {100 * found['recall']:.1f} % "
            f"of the 10 nearest, measured on {found['queries']} tokens"
        )


def query_from_args(args: argparse.Namespace) -> None:
    """Ask, and print."""
    from elmo_plugin.elmo_embedder import ElmoEmbedder
    from elmo_plugin.engine.errors import OptionsError
    from elmo_plugin.neighbors.index import TokenIndex
    from elmo_plugin.neighbors.query import IndexQuery, parse_marked
    from elmo_plugin.neighbors.report import as_markdown, as_text, visible
    from elmo_plugin.probes.known_senses import KnownSenses
    from elmo_plugin.probes.senses import read_sense_texts

    if args.cells is not None and not args.approximate:
        raise OptionsError("--cells belongs to --approximate.")
    if args.json and args.markdown:
        raise OptionsError("--json and --markdown: choose one.")
    marked = [parse_marked(sentence) for sentence in args.sentence]
    index = TokenIndex(args.index)
    senses = None if args.senses is None else KnownSenses(read_sense_texts(args.senses))
    embedder = ElmoEmbedder(
        cuda_device=args.cuda_device,
        weights=args.weights or index.description["weights"],
        state=index.description["state"],
        backend=args.backend,
        precision=index.description["precision"],
    )
    query = IndexQuery(index, embedder.sentences("all"))
    found = [_ask(args, index, query, senses, *one) for one in marked]
    if args.markdown:
        print(as_markdown(found))
        return
    for place, one in enumerate(found):
        if args.json:
            layers = [layer.to_json() for layer in one.layers]
            content = {"tokens": one.tokens, "position": one.position, "layers": layers}
            if senses is not None:
                content["sense"] = one.sense
            print(json.dumps(content, ensure_ascii=False))
            continue
        if len(found) > 1:
            print(("\n" if place else "") + f"{visible(args.sentence[place])}\n")
        print(as_text(one))


def _ask(
    args: argparse.Namespace,
    index: "TokenIndex",
    query: "IndexQuery",
    senses: "Optional[KnownSenses]",
    tokens: List[str],
    position: int,
) -> "Found":
    from elmo_plugin.neighbors.query import Search
    from elmo_plugin.neighbors.report import Found, LayerFound
    from elmo_plugin.probes.sense_names import sense_name

    def sense(sentence: List[str], place: int) -> Optional[str]:
        key = None if senses is None else senses.find(sentence, place)
        return key if key is None or args.json else sense_name(key)

    search = Search(args.k, not args.approximate, args.cells)
    layers: List[LayerFound] = []
    for layer in range(index.num_layers) if args.layers is None else args.layers:
        if layer == 0:
            layers.append(LayerFound(0, True, words=query.words(tokens[position], args.k)))
            continue
        near = query.tokens(tokens, position, layer, search)
        known = None if senses is None else [sense(one.tokens, one.position) for one in near]
        # With another number of cells than the build's nothing is known about what is found.
        is_measured = not search.is_exact and args.cells is None
        recall = index.recall(layer) if is_measured else None
        layers.append(LayerFound(layer, search.is_exact, tokens=near, senses=known, recall=recall))
    return Found(tokens, position, sense(tokens, position), layers)
