"""
What a frozen biLM costs in the training of a task, with the layer cache: seconds of each epoch beside those of the same
tagger without ELMo.

    python benchmarks/task_training.py --sizes builtin small original --sentences 500

A biLSTM-CRF over word vectors and a character CNN (Lample et al. 2016), with and without ELMo at its input, is trained
on made-up sentences with made-up tags, in turns, without checkpoints. The biLMs have random weights of these sizes.
"""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional

import numpy as np
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.plugins import import_plugins
from allennlp.training import GradientDescentTrainer, TrainerCallback
from overrides import overrides

import elmo_plugin  # noqa: F401  (registers the components)
from elmo_plugin.benchmark import table
from elmo_plugin.benchmark.peers import WeightFiles
from elmo_plugin.benchmark.sizes import random_model
from elmo_plugin.benchmark.text import make_sentences
from elmo_plugin.compat import apply as apply_compat

HEADER = ("biLM", "without ELMo, s", "with, first epoch, s", "with, later epochs, s", "later to without")

TAGS = ("O", "B-PER", "B-LOC", "B-ORG")


@TrainerCallback.register("benchmark_clock", exist_ok=True)
class Clock(TrainerCallback):
    """Notes when each epoch has ended."""

    ticks: List[float] = []

    @overrides
    def on_start(self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any) -> None:
        Clock.ticks[:] = [time.perf_counter()]

    @overrides
    def on_epoch(
        self,
        trainer: GradientDescentTrainer,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        Clock.ticks.append(time.perf_counter())


def write_data(path: Path, sentences: int, seed: int) -> None:
    """Write sentences as `sequence_tagging` reads them."""
    random = np.random.RandomState(seed)
    lines = (
        "\t".join(f"{word}###{TAGS[random.randint(len(TAGS))]}" for word in words)
        for words in make_sentences(sentences, seed)
    )
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def config(data: Path, epochs: int, elmo: Optional[Dict[str, Any]], dim: int) -> Dict[str, Any]:
    """The training of the tagger; with ELMo where there are parameters of the embedder."""
    indexers: Dict[str, Any] = {
        "words": {"type": "single_id", "lowercase_tokens": True},
        "characters": {"type": "characters", "min_padding_length": 3},
    }
    embedders: Dict[str, Any] = {
        "words": {"type": "embedding", "embedding_dim": 50},
        "characters": {
            "type": "character_encoding",
            "embedding": {"embedding_dim": 16},
            "encoder": {"type": "cnn", "embedding_dim": 16, "num_filters": 128, "ngram_filter_sizes": [3]},
        },
    }
    if elmo is not None:
        indexers["elmo"] = {"type": "elmo"}
        embedders["elmo"] = {"type": "elmo", **elmo}
    width = 178 + (0 if elmo is None else dim)
    return {
        "dataset_reader": {"type": "sequence_tagging", "token_indexers": indexers},
        "train_data_path": str(data),
        "model": {
            "type": "crf_tagger",
            "text_field_embedder": {"token_embedders": embedders},
            "encoder": {"type": "lstm", "input_size": width, "hidden_size": 100, "bidirectional": True},
        },
        "data_loader": {"batch_sampler": {"type": "bucket", "batch_size": 32, "sorting_keys": ["tokens"]}},
        "trainer": {
            "optimizer": {"type": "adam", "lr": 0.001},
            "num_epochs": epochs,
            "callbacks": ["benchmark_clock"],
            # A checkpoint is as long in the writing for a few sentences as for many.
            "checkpointer": {"save_completed_epochs": False},
            "run_confidence_checks": False,
        },
    }


def epochs_of(settings: Dict[str, Any], folder: Path) -> List[float]:
    """Train and return the seconds of each epoch."""
    train_model(Params(settings), str(folder), force=True)
    return [after - before for before, after in zip(Clock.ticks, Clock.ticks[1:])]


def main(arguments: Optional[List[str]] = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["builtin", "small", "original"])
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    if args.epochs < 2:
        parser.error("--epochs must be 2 or more: the first fills the cache")
    import_plugins()
    apply_compat()
    logging.disable(logging.WARNING)
    try:
        torch.set_num_threads(args.threads)
        print(table.table(HEADER, measure(args), texts=1))
    finally:
        logging.disable(logging.NOTSET)
    print(
        f"\n{args.sentences} sentences, {args.threads} thread(s), seed {args.seed}; medians of {args.rounds} rounds in "
        "turns, of the epochs behind the first."
    )
    return 0


def measure(args: argparse.Namespace) -> List[List[str]]:
    """The lines of the table, one for each size."""
    rows, files = [], WeightFiles()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder / "train.txt", args.sentences, args.seed)
        for size in args.sizes:
            model = random_model(size, args.seed)
            options, weights = files.of(model)
            first, later, plain, ratios = [], [], [], []
            for number in range(args.rounds):
                elmo = {
                    "options_file": str(options),
                    "weight_file": str(weights),
                    "state": "reset",
                    "cache": str(folder / f"cache-{size}-{number}"),
                }
                without = median(epochs_of(config(folder / "train.txt", args.epochs, None, 0), folder / "run")[1:])
                with_elmo = epochs_of(
                    config(folder / "train.txt", args.epochs, elmo, model.options.output_dim), folder / "run"
                )
                plain.append(without)
                first.append(with_elmo[0])
                later.append(median(with_elmo[1:]))
                ratios.append(later[-1] / without)
            spread = f"{median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
            rows.append([size, *(f"{median(each):.2f}" for each in (plain, first, later)), spread])
    files.close()
    return rows


if __name__ == "__main__":
    sys.exit(main())
