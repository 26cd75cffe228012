"""
How fast a biLM is trained: this package, the same with a loop over steps and autograd, the same with AllenNLP's loop,
and bilm-tf, in turns.

    python benchmarks/training.py --threads 2 --bilm-tf bilm-tf/bin/python

Every peer makes whole steps of bilm-tf's training over the same batches: character CNN, LSTMs, sampled softmax,
dropout, gradients, clip of the global norm, Adagrad. Prints tokens per second (one direction counted) and ratios, the
medians of the rounds with their quartiles. That the losses are the same is tested in tests/models/test_bilm_tf.py; the
printed ones differ by dropout, negatives and first weights.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Sequence

import numpy as np
import torch
from allennlp.modules.lstm_cell_with_projection import LstmCellWithProjection

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import Backend, Clips, LstmJob, LstmResult
from elmo_plugin.engine.backends.reference import ReferenceBackend
from elmo_plugin.engine.packing import Packing

UNITS = {"few": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256]]}
UNITS["full"] = [*UNITS["few"], [6, 512], [7, 1024]]
Batch = Dict[str, torch.Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bilm-tf", metavar="PYTHON", help="interpreter of an environment that has bilm-tf")
    parser.add_argument("--cells", type=int, default=1024)
    parser.add_argument("--projection", type=int, default=128)
    parser.add_argument("--filters", choices=sorted(UNITS), default="few", help="character CNN: 512 or 2048 filters")
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--negatives", type=int, default=8192)
    parser.add_argument("--vocabulary", type=int, default=50_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="file for all times, as JSON")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        text, vocab = make_text(args, Path(folder))
        batches = make_batches(args, text, vocab)
        peers: List[Any] = [
            OwnPeer("elmo_plugin", args, vocab, backends.get("cpu")),
            OwnPeer("autograd loop", args, vocab, backends.get("reference")),
            OwnPeer("AllenNLP's loop", args, vocab, AllenNlpLoop()),
        ]
        if args.bilm_tf:
            peers.append(BilmTfPeer(args, batches, len(vocab), Path(folder)))
        times: Dict[str, List[float]] = {peer.name: [] for peer in peers}
        losses: Dict[str, float] = {}
        for number in range(args.rounds + 1):  # the first round warms up
            for peer in peers:
                seconds, losses[peer.name] = peer.step(number, batches[number])
                if number:
                    times[peer.name].append(seconds)
        for peer in peers:
            peer.close()
    report(args, times, losses)


def make_text(args: argparse.Namespace, folder: Path) -> Any:
    """English-like sentences, and the vocabulary of a larger text of the same kind."""
    from elmo_plugin.benchmark.text import make_sentences
    from elmo_plugin.corpus.text import Corpus
    from elmo_plugin.corpus.vocabulary import build_vocabulary

    needed = (args.rounds + 2) * args.rows * args.steps // 15
    sentences = make_sentences(max(needed, 20_000), args.seed)
    (folder / "text").write_text("".join(" ".join(words) + "\n" for words in sentences), encoding="utf-8")
    words = build_vocabulary(Corpus(folder / "text"), args.vocabulary).words
    words += [f"filler{number}" for number in range(args.vocabulary - len(words))]
    return sentences, {word: index for index, word in enumerate(words)}


def make_batches(args: argparse.Namespace, sentences: List[List[str]], vocab: Dict[str, int]) -> List[Batch]:
    from elmo_plugin.corpus.streams import LazyBlock, stream_batches, to_tensors
    from elmo_plugin.corpus.word_table import WordTable

    table = WordTable(vocab)
    found = stream_batches(LazyBlock(sentences, table).sentences(), args.rows, args.steps)
    return [to_tensors(batch, table) for _, batch in zip(range(args.rounds + 1), found)]


class AllenNlpLoop(ReferenceBackend):
    """Layers by AllenNLP's `LstmCellWithProjection`, which goes from step to step and leaves the rest to autograd."""

    name = "allennlp"

    def __init__(self) -> None:
        self._cells: Dict[Any, LstmCellWithProjection] = {}  # their own weights are not used

    def run(self, jobs: Sequence[LstmJob], packing: Packing, clips: Clips) -> List[LstmResult]:
        return [self._run(job, packing, clips) for job in jobs]

    def _run(self, job: LstmJob, packing: Packing, clips: Clips) -> LstmResult:
        weights, (rows, cells) = job.weights, job.cell.shape
        assert weights.projection is not None and not job.reverse and set(packing.sizes) == {rows}
        sizes = (weights.input.shape[1], job.hidden.shape[1], cells)
        if sizes not in self._cells:
            bounds = {"memory_cell_clip_value": clips.cell, "state_projection_clip_value": clips.projection}
            self._cells[sizes] = LstmCellWithProjection(*sizes, **bounds)
        own = {
            "input_linearity.weight": weights.input,
            "state_linearity.weight": weights.recurrent,
            "state_linearity.bias": weights.bias,
            "state_projection.weight": weights.projection,
        }
        inputs = job.inputs.view(packing.steps, rows, -1).transpose(0, 1)
        state = (job.hidden[None], job.cell[None])
        outputs, (hidden, memory) = torch.func.functional_call(
            self._cells[sizes], own, (inputs, [packing.steps] * rows, state)
        )
        return LstmResult(outputs.transpose(0, 1).flatten(0, 1), hidden[0], memory[0])


class OwnPeer:
    """
    The model of this package.

    # Parameters

    backend : what computes its layers.
    """

    def __init__(self, name: str, args: argparse.Namespace, vocab: Dict[str, int], backend: Backend) -> None:
        from allennlp.data import Vocabulary

        from elmo_plugin.models.elmo_language_model import ElmoLanguageModel

        self.name = name
        torch.manual_seed(args.seed)
        vocabulary = Vocabulary(non_padded_namespaces=["elmo_lm"], tokens_to_add={"elmo_lm": list(vocab)})
        self._model = ElmoLanguageModel(
            vocabulary,
            bilm_options(args, 262),
            n_negative_samples=args.negatives,
            loss_scale=float(args.steps),
            backend="reference",
        ).train()
        self._model.bilm.lstm._backend = backend  # AllenNLP's loop is none of the registered ones
        self._optimizer = torch.optim.Adagrad(self._model.parameters(), lr=0.2, initial_accumulator_value=1.0)
        self._scale = args.steps

    def step(self, _: int, batch: Batch) -> Any:
        begun = time.perf_counter()
        self._optimizer.zero_grad()
        loss = self._model(**batch)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 10.0)
        self._optimizer.step()
        return time.perf_counter() - begun, float(loss.detach()) / self._scale

    def close(self) -> None:
        """Nothing to do."""


class BilmTfPeer:
    """bilm-tf in a process of its own, which takes its own times."""

    name = "bilm-tf"

    def __init__(self, args: argparse.Namespace, batches: List[Batch], n_words: int, folder: Path) -> None:
        options = bilm_options(args, 261)
        options.update(
            bidirectional=True,
            dropout=0.1,
            all_clip_norm_val=10.0,
            n_tokens_vocab=n_words,
            batch_size=args.rows,
            unroll_steps=args.steps,
            n_negative_samples_batch=args.negatives,
        )
        (folder / "options.json").write_text(json.dumps(options))
        characters = {
            name: np.stack([batch["words"][batch[part]].numpy() - 1 for batch in batches]).astype(np.int16)
            for name, part in (("tokens", "forward_inputs"), ("tokens_reverse", "backward_inputs"))
        }
        targets = {
            name: np.stack([batch[part].numpy() for batch in batches])
            for name, part in (("next", "forward_targets"), ("next_reverse", "backward_targets"))
        }
        np.savez(folder / "batches.npz", **characters, **targets)
        worker = Path(__file__).parent / "peers" / "bilm_tf_training_worker.py"
        self._process = subprocess.Popen(
            [args.bilm_tf, str(worker), str(folder / "options.json"), str(folder / "batches.npz"), str(args.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if self._read() != "ready":
            raise SystemExit(f"bilm-tf did not start: does {args.bilm_tf} have it? (benchmarks/README.md)")

    def step(self, number: int, _: Batch) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        return json.loads(self._read())

    def close(self) -> None:
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def bilm_options(args: argparse.Namespace, n_characters: int) -> Dict[str, Any]:
    return {
        "lstm": {
            "dim": args.cells,
            "projection_dim": args.projection,
            "n_layers": 2,
            "cell_clip": 3,
            "proj_clip": 3,
            "use_skip_connections": True,
        },
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": 16},
            "filters": UNITS[args.filters],
            "n_highway": 1,
            "n_characters": n_characters,
            "max_characters_per_token": 50,
        },
    }


def report(args: argparse.Namespace, times: Dict[str, List[float]], losses: Dict[str, float]) -> None:
    tokens = args.rows * args.steps
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{args.cells}/{args.projection}, {args.filters} filters, steps of {args.rows} x {args.steps} tokens,")
    print(f"{args.negatives} negatives of {args.vocabulary} words, {args.threads} threads, {args.rounds} rounds,")
    print(f"load {load:.1f}")
    print(f"\n{'':16}{'tokens/s':>10}{'quartiles':>18}{'times faster':>14}{'quartiles':>16}{'last loss':>11}")
    own = np.array(times["elmo_plugin"])
    for name, seconds in times.items():
        low, median, high = np.percentile(tokens / np.array(seconds), [25, 50, 75])
        ratios = np.percentile(np.array(seconds) / own, [25, 50, 75])
        line = f"{name:16}{median:>10,.0f}{f'{low:,.0f} .. {high:,.0f}':>18}"
        if name != "elmo_plugin":
            line += f"{ratios[1]:>14.2f}{f'{ratios[0]:.2f} .. {ratios[2]:.2f}':>16}"
        else:
            line += f"{'':30}"
        print(f"{line}{losses[name]:>11.3f}")
    if args.output is not None:
        args.output.write_text(json.dumps({"arguments": vars(args), "seconds": times}, default=str, indent=2) + "\n")


if __name__ == "__main__":
    main()
