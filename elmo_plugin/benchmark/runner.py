"""Go through all cases and write what comes out."""

import argparse
import sys
from functools import partial
from typing import Any, Callable, Dict, List, Sequence

import torch

from elmo_plugin.benchmark import choice, indexing, machine, memory, plot, report, table, text
from elmo_plugin.benchmark.arguments import fill_in, recorded
from elmo_plugin.benchmark.float32 import without_tf32
from elmo_plugin.benchmark.peers import BASELINES, Peer, PeerUnavailableError, Setting, WeightFiles, entries
from elmo_plugin.benchmark.peers.base import DTYPES
from elmo_plugin.benchmark.roofline import Limit, Roofline
from elmo_plugin.benchmark.sizes import SIZES, Model, random_model
from elmo_plugin.benchmark.speed import Bench, Case, lengths_of
from elmo_plugin.benchmark.truth import Truth
from elmo_plugin.engine.backends.base import PRECISIONS

# Sorted batches are chosen from so many groups of sentences.
_SORTED_GROUPS = 8

_WORDS_IN_A_SENTENCE = 20


class UsageError(ValueError):
    """The arguments ask for something that there is not."""


def main(arguments: argparse.Namespace) -> int:
    """
    Run the benchmark, print its table and write everything into the output folder.

    # Returns

    The exit code: 1 where vectors or tensors are wrong, 2 where the arguments cannot be followed.
    """
    try:
        if arguments.plot:
            plot.check()
        if arguments.source is not None:
            results = report.read(arguments.source)
        else:
            results = Run(fill_in(arguments)).everything()
        markdown = table.markdown(results)
        arguments.output.mkdir(parents=True, exist_ok=True)
        (arguments.output / "results.md").write_text(markdown, encoding="utf-8")
        print(markdown)
        if arguments.plot:
            plot.draw(results, arguments.output / "results.svg")
    except (UsageError, text.TextError, PeerUnavailableError, plot.PlotError, report.ReportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if any_wrong(results) else 0


def any_wrong(results: Dict[str, Any]) -> bool:
    """Whether anything differs that should not."""
    peers = [peer for result in results["speed"] for peer in result["peers"]]
    return any(peer["differs"] for peer in peers) or any(not result["equal"] for result in results["indexing"])


class Run:
    """
    One run over all cases.

    # Parameters

    arguments : of `arguments.add_arguments`, filled in.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        _check_names("size", arguments.sizes, list(SIZES))
        _check_names("precision", arguments.precisions, list(dict.fromkeys([*DTYPES, *PRECISIONS])))
        _check_names("peer", arguments.peers or [], list(entries()))
        self._arguments = arguments
        self._device = _device(arguments.device)
        self._files = WeightFiles()
        self._rooflines: Dict[int, Roofline] = {}
        self._limits: List[Callable[[], Limit]] = []
        self._sentences = self._read_or_make()
        self.results = report.start(machine.describe(self._device), report.plain(recorded(arguments)))
        self.results["text"] = {
            "source": "made up" if arguments.text is None else arguments.text.name,
            "sentences": len(self._sentences),
            "mean_length": sum(map(len, self._sentences)) / len(self._sentences),
        }

    def everything(self) -> Dict[str, Any]:
        """Measure all and return the report."""
        before = torch.get_num_threads()
        try:
            with without_tf32():
                for size in self._arguments.sizes:
                    self._all_of(random_model(size, self._arguments.seed))
            if "indexing" in self._arguments.parts:
                self._indexing()
        finally:
            torch.set_num_threads(before)
            self._files.close()
        self._save()
        return self.results

    def _all_of(self, model: Model) -> None:
        if "speed" in self._arguments.parts:
            for threads in self._arguments.threads:
                torch.set_num_threads(threads)
                self._speed(model, threads)
        if "memory" in self._arguments.parts:
            for batch in self._arguments.batches:
                self._memory(model, batch)

    def _speed(self, model: Model, threads: int) -> None:
        setting = Setting(self._device, threads, self._arguments.bilm_tf, self._files)
        peers, absent = choice.build(model, setting, self._arguments)
        self.results["absent"].update(absent)
        try:
            stock = next((peer for peer in peers if peer.name == BASELINES[0]), None)
            self._cases(model, threads, peers, Truth(model, setting, stock))
        finally:
            for peer in peers:
                peer.close()

    def _cases(self, model: Model, threads: int, peers: Sequence[Peer], truth: Truth) -> None:
        cache = machine.last_level_cache(self._device)
        roofline = self._rooflines.setdefault(threads, Roofline(self._device, threads, cache))
        for batch in self._arguments.batches:
            for order in self._arguments.orders:
                _say(f"{model.size}, batch {batch}, {order}, {threads} thread(s)")
                batches = self._batches(batch, order)
                lengths = lengths_of(batches)
                case = Case(model.size, batch, order, threads, str(self._device))
                roofline.measure(model.options, batch)
                bench = Bench(peers, truth.for_batches(lengths), BASELINES)
                result = bench.measure(case, batches, self._arguments.rounds, self._arguments.seconds)
                self.results["speed"].append(report.plain(result))
                self._limits.append(partial(roofline.limit, model.options, batch, lengths))
                self._save()

    def _memory(self, model: Model, batch: int) -> None:
        case = Case(model.size, batch, "natural", self._arguments.threads[0], str(self._device))
        meter = memory.Memory(case, model, self._arguments.seed, self._files, self._batches(batch, "natural"))
        for name, precision in choice.chosen(self._arguments):
            called = choice.label(name, precision)
            if called in self.results["absent"] or name == "bilm-tf":
                continue
            _say(f"memory of {called}, {model.size}, batch {batch}")
            try:
                self.results["memory"].append(report.plain(meter.measure(name, precision)))
            except PeerUnavailableError as error:
                self.results["absent"][f"memory of {called}, {model.size}, batch {batch}"] = str(error)
            self._save()

    def _indexing(self) -> None:
        _say("text to tensors")
        batches = self._batches(max(self._arguments.batches), "natural")
        try:
            results = indexing.measure(batches, self._arguments.rounds, self._arguments.seconds)
        except PeerUnavailableError as error:
            self.results["absent"]["AllenNLP's indexer"] = str(error)
        else:
            self.results["indexing"] = report.plain(results)

    def _read_or_make(self) -> List[text.Sentence]:
        count = max(size * max(self._count(size), _SORTED_GROUPS) for size in self._arguments.batches)
        if self._arguments.text is not None:
            return text.read_sentences(self._arguments.text, count)
        return text.make_sentences(count, self._arguments.seed)

    def _batches(self, size: int, order: str) -> List[List[text.Sentence]]:
        count = self._count(size)
        if order == "natural":
            return text.natural_batches(self._sentences, size, count)
        return text.sorted_batches(self._sentences[: size * max(count, _SORTED_GROUPS)], size, count)

    def _count(self, size: int) -> int:
        """Batches in a round."""
        return max(1, round(self._arguments.words / (_WORDS_IN_A_SENTENCE * size)))

    def _save(self) -> None:
        """Write what there is, with limits from the best rates that were measured so far."""
        self.results["rates"] = [report.plain(roofline.rates) for roofline in self._rooflines.values()]
        for result, limit in zip(self.results["speed"], self._limits):
            result["limit"] = report.plain(limit())
        report.write(self.results, self._arguments.output / "results.json")


def _check_names(kind: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"unknown {kind} {name!r}; choose from {list(known)}.")


def _device(name: str) -> torch.device:
    if name not in ("cpu", "cuda"):
        raise UsageError(f"unknown device {name!r}; choose from ['cpu', 'cuda'].")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("there is no CUDA device here; choose --device cpu.")
    return torch.device(name)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
