"""
Whether memory stays flat over very many batches of all shapes, with biLMs that are frozen, tuned, carried and cached.

    python benchmarks/soak.py --batches 200000

Each batch goes to one of several biLMs at random: of 1 to 8 sentences of 0 to 200 words, a share of them never seen
before. The resident memory is noted as it goes; the exit code is 1 where the last quarter of the run holds more than
`--allowed` MiB beyond the second quarter, in the medians. Linux only.
"""

import argparse
import sys
import time
from typing import Callable, List

import numpy as np
import torch

from elmo_plugin.benchmark import table
from elmo_plugin.benchmark.memory_worker import ProcessMeter
from elmo_plugin.benchmark.sizes import random_model
from elmo_plugin.benchmark.text import Sentence
from elmo_plugin.engine import BiLm
from elmo_plugin.engine.sentence_ids import SentenceIds

# Of bounded caches, so that they are full, and evict, for most of the run.
CACHE_MEGABYTES = 4

# A new word is met with this probability, else one of the common ones.
NEW_WORDS = 0.1
COMMON_WORDS = 5000


def draw_batch(random: np.random.RandomState) -> List[Sentence]:
    """Make sentences whose number, lengths and words are all over the place."""
    count = random.randint(1, 9)
    lengths = np.minimum(random.lognormal(2.5, 1.0, count).astype(int), 200)
    return [[draw_word(random) for _ in range(length)] for length in lengths]


def draw_word(random: np.random.RandomState) -> str:
    """A common word, or one out of a billion."""
    number = random.randint(COMMON_WORDS, 10**9) if random.random_sample() < NEW_WORDS else random.randint(COMMON_WORDS)
    return f"w{number}"


def users(size: str, backend: str) -> List[Callable[[List[Sentence]], None]]:
    """What is done with a batch, by one biLM each."""
    model = random_model(size, seed=0)

    def build(state: str, fine_tune: bool = False, word_cache: float = CACHE_MEGABYTES) -> BiLm:
        bilm = BiLm(model.options, backend=backend, state=state, fine_tune=fine_tune, word_cache=word_cache)
        bilm.load_tensors(model.tensors, size)
        return bilm

    def embed(bilm: BiLm) -> Callable[[List[Sentence]], None]:
        to_ids = SentenceIds(bilm)

        def run(sentences: List[Sentence]) -> None:
            layers = bilm(to_ids(sentences)).layers
            if not bool(torch.isfinite(layers).all()):
                raise FloatingPointError("a vector is not finite")

        return run

    def tune(bilm: BiLm) -> Callable[[List[Sentence]], None]:
        to_ids = SentenceIds(bilm)
        optimizer = torch.optim.SGD(bilm.parameters(), lr=1e-6)

        def run(sentences: List[Sentence]) -> None:
            optimizer.zero_grad()
            bilm(to_ids(sentences)).layers.square().mean().backward()
            optimizer.step()

        return run

    frozen = [embed(build(state)) for state in ("reset", "carried")]
    return [*frozen * 4, embed(build("reset", word_cache=0)), tune(build("carried", fine_tune=True))]


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=200_000)
    parser.add_argument("--size", default="tiny", help="of the random weights (default: tiny)")
    parser.add_argument("--backend", default="auto", help="of the engine (default: auto)")
    parser.add_argument("--notes", type=int, default=100, help="how often memory is noted in the run (default: 100)")
    parser.add_argument("--allowed", type=float, default=16.0, help="MiB of growth that is none (default: 16)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    random = np.random.RandomState(arguments.seed)
    runs, meter = users(arguments.size, arguments.backend), ProcessMeter()
    every, start, words = max(1, arguments.batches // arguments.notes), time.monotonic(), 0
    noted: List[List[float]] = []  # batches, words, seconds, MiB
    for number in range(1, arguments.batches + 1):
        batch = draw_batch(random)
        runs[random.randint(len(runs))](batch)
        words += sum(map(len, batch))
        if number % every == 0:
            noted.append([number, words, time.monotonic() - start, meter.now() / 2**20])
            print("{:,.0f} batches, {:,.0f} words, {:.0f} s, {:.1f} MiB".format(*noted[-1]), file=sys.stderr)
    quarter = max(1, len(noted) // 4)
    quarters = [noted[first : first + quarter] for first in range(0, 4 * quarter, quarter)]
    memory = [float(np.median([row[3] for row in rows])) if rows else float("nan") for rows in quarters]
    header = ["batches", "words", "seconds", *(f"MiB, quarter {number}" for number in range(1, 5))]
    last = noted[-1]
    row = [f"{last[0]:,.0f}", f"{last[1]:,.0f}", f"{last[2]:,.0f}", *(f"{value:.1f}" for value in memory)]
    print(table.table(header, [row]))
    growth = memory[3] - memory[1]
    print(f"\nFrom the second quarter to the last: {growth:+.1f} MiB; allowed are {arguments.allowed:g}.")
    return int(not growth <= arguments.allowed)


if __name__ == "__main__":
    sys.exit(main())
