"""
How much of the engine's speed is left in `allennlp elmo`, reading and writing included.

    python benchmarks/embedding.py --weights builtin --sentences 2000 --formats hdf5 parquet

In turns, over the same sentences: the engine alone (ids made, the command's batches run in its order, layers dropped),
then the whole command's work into each format. Shares are of the wall clock, waiting for the disk included, and of the
processors' time, which other programs on the machine disturb less and which nothing hides that runs beside the engine.
The exit code is 1 where the median share by the wall clock of a format is below `--at-least`.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import torch

from elmo_plugin.benchmark.text import Sentence, make_sentences, read_sentences
from elmo_plugin.benchmark.timing import ratios, spread
from elmo_plugin.elmo_embedder import ElmoEmbedder
from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.embedding.run import embed_text, window_limits
from elmo_plugin.embedding.targets import Target
from elmo_plugin.embedding.text import TextLine
from elmo_plugin.embedding.windows import windows
from elmo_plugin.embedding.writers import names


class Seconds(NamedTuple):
    """What something takes, by the wall clock, and of all processors' time in this process, the system's included."""

    wall: float
    processor: float


def main(arguments: Optional[List[str]] = None) -> int:
    args = _parser().parse_args(arguments)
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    elmo = ElmoEmbedder(weights=args.weights, cuda_device=args.cuda_device, state=args.state, backend=args.backend)
    embedder = elmo.sentences(args.layers)
    sentences = make_sentences(args.sentences, 0) if args.text is None else read_sentences(args.text, args.sentences)
    tokens = sum(map(len, sentences))
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        text = Path(folder) / "text"
        text.write_text("".join(" ".join(words) + "\n" for words in sentences), encoding="utf-8")
        measured: Dict[str, Callable[[], Seconds]] = {"engine alone": lambda: engine_alone(embedder, sentences)}
        for name in args.formats:
            measured[name] = lambda name=name: whole_work(embedder, text, name)
        times: Dict[str, List[Seconds]] = {name: [] for name in measured}
        engine_alone(embedder, sentences[: len(sentences) // 10 + 1])  # what is made once is made now
        for _ in range(args.rounds):
            for name, measure in measured.items():
                times[name].append(measure())
    return _report(times, tokens, args)


def engine_alone(embedder: SentenceEmbedder, sentences: List[Sentence]) -> Seconds:
    """The time for all batches of the text, those of the command's windows."""
    lines = (TextLine(number, " ".join(words), list(words)) for number, words in enumerate(sentences))
    texts = [[line.tokens for line in window] for window in windows(lines, window_limits(embedder))]
    embedder.begin_part()
    embedder.bilm.reset_states()

    def run() -> None:
        with torch.no_grad():
            for text in texts:
                for places in embedder.plan.batches([len(words) for words in text]):
                    embedder.bilm.run(embedder.to_ids([text[place] for place in places]))
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return _timed(run)


def whole_work(embedder: SentenceEmbedder, text: Path, format: str) -> Seconds:
    """The time for what the command does, from the text to the finished file."""
    output = text.with_name(f"vectors.{format}")
    seconds = _timed(lambda: embed_text(text, Target(output, format), embedder))
    output.unlink()
    return seconds


def _timed(function: Callable[[], Any]) -> Seconds:
    wall, processor = time.perf_counter(), time.process_time()
    function()
    return Seconds(time.perf_counter() - wall, time.process_time() - processor)


def _report(times: Dict[str, List[Seconds]], tokens: int, args: argparse.Namespace) -> int:
    print(f"{args.weights}, layers {args.layers}, state {args.state}, {tokens:,} tokens, {args.rounds} rounds")
    worst = 1.0
    engine = times["engine alone"]
    for name, seconds in times.items():
        share = spread(ratios([each.wall for each in engine], [each.wall for each in seconds]))
        busy = spread(ratios([each.processor for each in engine], [each.processor for each in seconds]))
        worst = min(worst, share.median)
        speed = tokens / spread([each.wall for each in seconds]).median
        print(
            f"{name:>14} {speed:>12,.0f} tokens/s {share.median:>8.1%} ({share.low:.1%} to {share.high:.1%}), of the "
            f"processors' time {busy.median:.1%} ({busy.low:.1%} to {busy.high:.1%})"
        )
    return int(worst < args.at_least)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="builtin")
    parser.add_argument("--layers", default="all")
    parser.add_argument("--state", default="reset", choices=("reset", "warm"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--cuda-device", type=int, default=-1)
    parser.add_argument("--threads", type=int, help="of PyTorch")
    parser.add_argument("--formats", nargs="+", default=["hdf5"], choices=names())
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--text", help="a file, one tokenised sentence a line, instead of made-up text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where to write (default: the folder for temporary files)")
    parser.add_argument("--at-least", type=float, default=0.9, help="share of the engine's speed (default: 0.9)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
