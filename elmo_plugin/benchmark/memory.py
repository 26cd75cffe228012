"""
Peak memory, in a fresh process for each measurement: what one peer leaves behind does not count for the next.

On the CPU it is what Linux counts in /proc: `ru_maxrss` of a process starts from that of its parent, and cannot be set
back after loading. On a GPU it is PyTorch's own count.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Optional, Sequence, Tuple

import numpy as np

from elmo_plugin.benchmark.peers import PeerUnavailableError, WeightFiles
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.benchmark.speed import Case
from elmo_plugin.benchmark.text import Sentence
from elmo_plugin.engine.characters import batch_to_ids


@dataclass(frozen=True)
class MemoryResult:
    """
    What came out for one peer, in bytes beyond what Python and its imports take.

    # Parameters

    case : the model and the batch; of its batches the largest is run, once.
    name : the peer.
    precision : what it was asked to compute in.
    loaded : once the weights are loaded.
    peak : at most, from the end of loading to the end of the batch.
    peak_of_loading : at most, while the weights are read from their files.
    """

    case: Case
    name: str
    precision: str
    loaded: int
    peak: int
    peak_of_loading: int


@dataclass(frozen=True)
class Request:
    """
    What the process that measures is told, as JSON.

    # Parameters

    peer, precision, size, threads, device : what to build.
    ids : file of the batch.
    options_file, weight_file : the weights; None to draw them.
    seed : of drawn weights.
    """

    peer: str
    precision: str
    size: str
    threads: int
    device: str
    ids: str
    options_file: Optional[str]
    weight_file: Optional[str]
    seed: int


class Memory:
    """
    Measures the peers for one case.

    # Parameters

    case : what is run.
    model, seed : the biLM, and of what seed it was drawn.
    files : the biLM as files; where they cannot be written the process draws it again.
    batches : text, of which the largest batch is taken.
    """

    def __init__(
        self, case: Case, model: Model, seed: int, files: WeightFiles, batches: Sequence[Sequence[Sentence]]
    ) -> None:
        self._case = case
        self._seed = seed
        self._ids = max((batch_to_ids(batch) for batch in batches), key=lambda tensor: tensor.numel()).numpy()
        self._files: Tuple[Optional[str], Optional[str]] = (None, None)
        try:
            options_file, weight_file = files.of(model)
            self._files = str(options_file), str(weight_file)
        except PeerUnavailableError:
            pass

    def measure(self, name: str, precision: str) -> MemoryResult:
        """
        Measure one peer.

        # Raises

        `PeerUnavailableError` where this machine does not tell, or where the process ends badly.
        """
        case = self._case
        if case.device == "cpu" and not Path("/proc/self/clear_refs").exists():
            raise PeerUnavailableError("memory is measured on Linux only")
        with TemporaryDirectory(prefix="elmo-benchmark-") as folder:
            ids = Path(folder) / "ids.npy"
            np.save(ids, self._ids)
            request = Request(name, precision, case.size, case.threads, case.device, str(ids), *self._files, self._seed)
            command = [sys.executable, "-m", "elmo_plugin.benchmark.memory_worker", json.dumps(asdict(request))]
            run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            lines = run.stderr.strip().splitlines()
            raise PeerUnavailableError(lines[-1] if lines else f"ended with {run.returncode} (out of memory?)")
        return MemoryResult(case=case, name=name, precision=precision, **json.loads(run.stdout.splitlines()[-1]))
