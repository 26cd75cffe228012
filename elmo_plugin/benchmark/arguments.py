"""The command line of the benchmark. Nothing heavy is imported: `allennlp --help` reads this."""

import argparse
from pathlib import Path
from typing import Any, Dict

FULL: Dict[str, Any] = {
    "sizes": ["small", "original", "builtin"],
    "batches": [1, 8, 32, 64, 128, 512],
    "orders": ["natural", "sorted"],
    "threads": [1, 2],
    "words": 600,
    "rounds": 5,
    "seconds": 300.0,
    "parts": ["speed", "indexing", "memory"],
}

#: What continuous integration runs: every peer, small models, few words. Its times mean nothing.
QUICK: Dict[str, Any] = {
    "sizes": ["tiny", "small"],
    "batches": [1, 6],
    "orders": ["natural", "sorted"],
    "threads": [1],
    "words": 60,
    "rounds": 3,
    "seconds": 0.0,
    "parts": ["speed", "indexing"],
}

ORDERS = ("natural", "sorted")
PARTS = ("speed", "indexing", "memory")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what can be chosen. Defaults that differ under --quick are None until `fill_in`."""
    add = parser.add_argument
    add("--quick", action="store_true", help="under two minutes: all peers on small cases, for equality, not for speed")
    add("--sizes", nargs="+", metavar="NAME", help=f"biLMs (default: {_shown('sizes')}; also medium, tiny)")
    add("--batches", nargs="+", type=_positive, metavar="N", help=f"sentences at once (default: {_shown('batches')})")
    add("--orders", nargs="+", choices=ORDERS, help="sentences as they come, or sorted by length (default: both)")
    add("--threads", nargs="+", type=_positive, metavar="N", help=f"threads (default: {_shown('threads')})")
    add("--precisions", nargs="+", default=["float32"], metavar="NAME", help="of our backends (default: float32)")
    add(
        "--peers", nargs="+", metavar="NAME", help="what to measure (default: all that can run, but the slow stand-ins)"
    )
    add("--parts", nargs="+", choices=PARTS, help="what to measure about them (default: all)")
    add("--device", default="cpu", help="cpu or cuda (default: cpu)")
    add("--words", type=_positive, metavar="N", help=f"words in a round, about (default: {FULL['words']})")
    add("--rounds", type=_positive, metavar="N", help=f"rounds of a case (default: {FULL['rounds']})")
    add("--seconds", type=float, metavar="S", help="begin no more rounds of a case after S seconds, three rounds apart")
    add("--seed", type=int, default=0, help="of weights and text (default: 0)")
    add("--text", type=Path, metavar="FILE", help="tokenised sentences, one a line, in place of made-up ones")
    add("--bilm-tf", type=Path, metavar="PYTHON", help="interpreter with bilm-tf, to measure that too")
    add("-o", "--output", type=Path, default=Path("runs/benchmark"), help="folder for the results")
    add("--plot", action="store_true", help="also draw results.svg (needs matplotlib)")
    add(
        "--from", dest="source", type=Path, metavar="JSON", help="measure nothing: make table and plot of these results"
    )


def fill_in(arguments: argparse.Namespace) -> argparse.Namespace:
    """Give every value that was not chosen its default."""
    for name, value in (QUICK if arguments.quick else FULL).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    return arguments


def recorded(arguments: argparse.Namespace) -> Dict[str, Any]:
    """What of the arguments decides the results."""
    others = ("quick", "precisions", "peers", "device", "seed", "text")
    return {name: getattr(arguments, name) for name in (*FULL, *others)}


def _shown(name: str) -> str:
    return " ".join(map(str, FULL[name]))


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value
