"""
How exact and how fast an index of `allennlp elmo-neighbors build` answers, against brute force in float64.

    python benchmarks/neighbors.py INDEX                  # 1,000 tokens of each layer, drawn at random

Exact search must give brute force's cosines. Of approximate search the share of brute force's 10 nearest that it finds
is printed; the token that is asked about is left out of both. Exits with 1 where exact search is wrong.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import List, NamedTuple, Optional

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from elmo_plugin.neighbors.approximate import sample  # noqa: E402
from elmo_plugin.neighbors.index import TokenIndex  # noqa: E402
from elmo_plugin.neighbors.nearest import Neighbors  # noqa: E402

_K = 10
#: between cosines that are added up in float32 and in float64
_TOLERANCE = 2e-6
#: bytes of one block's cosines in float64
_BYTES = 1 << 28


class _Asked(NamedTuple):
    found: Neighbors
    milliseconds: float


def main(arguments: Optional[List[str]] = None) -> int:
    args = _parser().parse_args(arguments)
    index = TokenIndex(args.index)
    tokens = sample(index.vectors.tokens, args.queries, seed=args.seed)
    print(f"{args.index}: {index.vectors.tokens:,} tokens, {len(tokens):,} queries")
    is_right = True
    for layer in range(1, index.num_layers):
        queries = index.vectors.gather(layer, tokens)
        expected = brute_force(index, layer, queries)
        exact = _ask(index, layer, queries, is_exact=True)
        error = float(np.abs(exact.found.similarities - expected).max())
        is_right &= error <= _TOLERANCE
        print(
            f"layer {layer}: exact, largest difference from brute force {error:.1e}, "
            f"{exact.milliseconds:.1f} ms a query together"
        )
        if index.is_approximate:
            near = _ask(index, layer, queries, is_exact=False)
            print(
                f"layer {layer}: approximate, finds {100 * recall(near.found, expected, tokens):.2f} % of the {_K} "
                f"nearest (the build measured {100 * index.recall(layer):.1f} %), {near.milliseconds:.1f} ms a query"
            )
    return 0 if is_right else 1


def _ask(index: TokenIndex, layer: int, queries: np.ndarray, is_exact: bool) -> _Asked:
    begin = time.perf_counter()
    found = index.nearest(layer, queries, _K + 1, is_exact)
    return _Asked(found, 1000 * (time.perf_counter() - begin) / len(queries))


def brute_force(index: TokenIndex, layer: int, queries: np.ndarray) -> np.ndarray:
    """
    Take the largest cosines of each query and all tokens, without the library.

    # Returns

    `(queries, 11)`, the largest first.
    """
    queries = _unit(queries)
    best = np.full((len(queries), _K + 1), -np.inf)
    rows = max(1, _BYTES // (8 * len(queries)))
    for block in index.vectors.blocks:
        vectors = block.vectors(layer)
        for start in range(0, len(vectors), rows):
            cosines = queries @ _unit(vectors[start : start + rows]).T
            both = np.concatenate([best, cosines], axis=1)
            best = -np.partition(-both, _K, axis=1)[:, : _K + 1]
    return -np.sort(-best, axis=1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    vectors = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def recall(found: Neighbors, expected: np.ndarray, tokens: np.ndarray) -> float:
    """Share of the 10 nearest that were found, by their cosines: one token is as good as another that is as near."""
    hits = 0
    for similarities, numbers, largest, token in zip(found.similarities, found.numbers, expected, tokens):
        # Without the token itself, whose cosine is 1 and the largest.
        others = similarities[numbers != token]
        hits += min(_K, int((others >= largest[_K] - _TOLERANCE).sum()))
    return hits / (_K * len(tokens))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path, help="folder of elmo-neighbors build")
    parser.add_argument("--queries", type=int, default=1000, help="tokens to ask about (default: 1000)")
    parser.add_argument("--seed", type=int, default=2, help="of the drawing; the build's own is 1 (default: 2)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
