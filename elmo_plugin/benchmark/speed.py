"""One case: check that all peers give the same vectors, then measure those that do, in turns."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from elmo_plugin.benchmark import agreement, machine, timing
from elmo_plugin.benchmark.agreement import Agreement
from elmo_plugin.benchmark.peers import Peer, PeerUnavailableError
from elmo_plugin.benchmark.roofline import Limit
from elmo_plugin.benchmark.text import Sentence, distinct_ratio
from elmo_plugin.benchmark.timing import Spread
from elmo_plugin.engine.characters import batch_to_ids

# Rows that the truth is computed for at once: bounds its memory, which is AllenNLP's.
_TRUTH_ROWS = 32

# More of the free memory than this is not taken: the rest of the machine has work too.
_MEMORY_SHARE = 0.7


@dataclass(frozen=True)
class Case:
    """
    What is measured.

    # Parameters

    size : name of the biLM.
    batch : sentences at once.
    order : "natural", as they come, or "sorted", batches of sentences of similar length.
    threads, device : where.
    """

    size: str
    batch: int
    order: str
    threads: int
    device: str


@dataclass(frozen=True)
class PeerResult:
    """
    What came out for one peer.

    # Parameters

    name, precision : which.
    same_function : whether it should give the same vectors.
    refused : why there are no times; None where there are.
    differs : whether that is because the vectors are wrong.
    error, tolerance : largest relative error found and allowed; None where there is none.
    seconds : of each round, for all batches of the case.
    words_per_second : at the median; without sentence boundaries.
    ratio : how many times as fast as the baseline.
    """

    name: str
    precision: str
    same_function: bool
    refused: Optional[str]
    differs: bool
    error: Optional[float]
    tolerance: Optional[float]
    seconds: List[float]
    words_per_second: Optional[float]
    ratio: Optional[Spread]


@dataclass(frozen=True)
class CaseResult:
    """
    What came out.

    # Parameters

    case : what was measured.
    truth : what the vectors were compared with.
    baseline : name of the peer that the ratios are taken to; None where it did not run.
    batches, words, padded : of one round: number of batches, of words, and of places in the padded batches.
    distinct : how many of the words of a batch are distinct.
    limit : what the machine could do; filled in later, once its rates are known.
    peers : one result each.
    """

    case: Case
    truth: str
    baseline: Optional[str]
    batches: int
    words: int
    padded: int
    distinct: float
    limit: Optional[Limit]
    peers: List[PeerResult]


class Bench:
    """
    Peers that are ready, and what they are compared with.

    # Parameters

    peers : to measure; the first whose name is in `baselines` is the baseline.
    truth : gives the expected vectors.
    baselines : names, the preferred first.
    """

    def __init__(self, peers: Sequence[Peer], truth: Peer, baselines: Sequence[str]) -> None:
        self._peers = list(peers)
        self._truth = truth
        here = {peer.name for peer in peers}
        self._baseline = next((name for name in baselines if name in here), None)

    def measure(self, case: Case, batches: Sequence[Sequence[Sentence]], rounds: int, seconds: float) -> CaseResult:
        """
        Check and measure.

        # Parameters

        case : what this is.
        batches : the text of a round.
        rounds, seconds : as for `timing.in_turns`.
        """
        ids = [batch_to_ids(batch) for batch in batches]
        checks = _Checks()
        for peer in self._peers:
            checks.refuse_too_large(peer, ids)
        prepared = checks.compare(self._peers, self._truth, ids)
        tasks = {
            peer.name: partial(_seconds, peer, prepared[peer.name])
            for peer in self._peers
            if peer.name not in checks.refused
        }
        times = timing.in_turns(tasks, rounds, seconds)
        words = sum(len(sentence) for batch in batches for sentence in batch)
        baseline = self._baseline if self._baseline in times else None
        return CaseResult(
            case=case,
            truth=f"{self._truth.name} {self._truth.precision}",
            baseline=baseline,
            batches=len(batches),
            words=words,
            padded=sum(tensor.shape[0] * tensor.shape[1] for tensor in ids),
            distinct=sum(map(distinct_ratio, batches)) / len(batches),
            limit=None,
            peers=[
                checks.result(peer, times.get(peer.name, []), times.get(baseline or ""), words) for peer in self._peers
            ],
        )


class _Checks:
    """What is known about each peer, by its name."""

    def __init__(self) -> None:
        self.refused: Dict[str, str] = {}
        self._agreements: Dict[str, Agreement] = {}

    def refuse_too_large(self, peer: Peer, ids: Sequence[torch.Tensor]) -> None:
        free = machine.available_memory(peer.device)
        needed = max(peer.memory_needed(tensor) for tensor in ids)
        if free is not None and needed > _MEMORY_SHARE * free:
            self.refused[peer.name] = f"needs about {needed / 2**30:.0f} GiB, {free / 2**30:.0f} GiB are free"

    def compare(self, peers: Sequence[Peer], truth: Peer, ids: Sequence[torch.Tensor]) -> Dict[str, List[Any]]:
        """Run every peer over every batch, and return the batches as each peer takes them."""
        prepared: Dict[str, List[Any]] = {peer.name: [] for peer in peers}
        for tensor in ids:
            expected, mask = _expected(truth, tensor), (tensor > 0).any(dim=2)
            for peer in peers:
                if peer.name in self.refused:
                    continue
                try:
                    prepared[peer.name].append(peer.prepare(tensor))
                    self._note(peer, truth, _error(peer, prepared[peer.name][-1], expected, mask))
                except RuntimeError as problem:
                    if not isinstance(problem, PeerUnavailableError) and not machine.lacks_memory(problem):
                        raise
                    self.refused[peer.name] = str(problem).splitlines()[0]
        for name, agreement_ in self._agreements.items():
            if agreement_.is_refused:
                self.refused.setdefault(name, f"its vectors are wrong: error {agreement_.error:.1e}")
        return prepared

    def _note(self, peer: Peer, truth: Peer, error: float) -> None:
        allowed = agreement.tolerance(peer.rounding, truth.rounding) if peer.same_function else None
        before = self._agreements.get(peer.name)
        self._agreements[peer.name] = Agreement(error if before is None else max(error, before.error), allowed)

    def result(self, peer: Peer, times: List[float], baseline: Optional[List[float]], words: int) -> PeerResult:
        found = self._agreements.get(peer.name)
        return PeerResult(
            name=peer.name,
            precision=peer.precision,
            same_function=peer.same_function,
            refused=self.refused.get(peer.name),
            differs=found is not None and found.is_refused,
            error=found.error if found is not None and math.isfinite(found.error) else None,
            tolerance=None if found is None else found.tolerance,
            seconds=times,
            words_per_second=words / timing.quantile(times, 0.5) if times else None,
            ratio=timing.spread(timing.ratios(baseline, times)) if times and baseline else None,
        )


def _expected(truth: Peer, ids: torch.Tensor) -> torch.Tensor:
    """The layers by rows: without state between calls no row depends on another."""
    pieces = [truth.layers(truth.prepare(rows)) for rows in ids.split(_TRUTH_ROWS)]
    return torch.cat(pieces, dim=1)


def _error(peer: Peer, prepared: Any, expected: torch.Tensor, mask: torch.Tensor) -> float:
    """The larger of the errors of the layers and of their mean, which is what gets timed."""
    return max(
        agreement.error(peer.layers(prepared), expected, mask),
        agreement.error(peer.vectors(prepared)[None], expected.mean(dim=0, keepdim=True), mask),
    )


def _seconds(peer: Peer, prepared: Sequence[Any]) -> float:
    return sum(peer.seconds(batch) for batch in prepared)


def lengths_of(batches: Sequence[Sequence[Sentence]]) -> List[Tuple[int, ...]]:
    """Words of each sentence of each batch."""
    return [tuple(len(sentence) for sentence in batch) for batch in batches]
