"""The process in which one peer's memory is measured: `python -m elmo_plugin.benchmark.memory_worker REQUEST`."""

import gc
import json
import sys
from pathlib import Path
from typing import Dict, Tuple

import numpy as np
import torch

from elmo_plugin.benchmark import machine
from elmo_plugin.benchmark.memory import Request
from elmo_plugin.benchmark.peers import Peer, PeerUnavailableError, Setting, WeightFiles, entries
from elmo_plugin.benchmark.sizes import Model, random_model


class _GivenFiles(WeightFiles):
    def __init__(self, options_file: str, weight_file: str) -> None:
        super().__init__()
        self._given = Path(options_file), Path(weight_file)

    def of(self, model: Model) -> Tuple[Path, Path]:
        return self._given


def main(text: str) -> Dict[str, int]:
    """Load, run one batch, and return the fields of `memory.MemoryResult` that are sizes."""
    request = Request(**json.loads(text))
    torch.set_num_threads(request.threads)
    device = torch.device(request.device)
    ids = torch.from_numpy(np.load(request.ids))
    meter = _CudaMeter(device) if device.type == "cuda" else ProcessMeter()
    before = meter.now()
    peer = _build(request, device)
    gc.collect()
    loaded, peak_of_loading = meter.now(), meter.peak()
    free = machine.available_memory(device)
    if free is not None and peer.memory_needed(ids) > free:
        raise PeerUnavailableError(f"needs about {peer.memory_needed(ids) / 2**30:.0f} GiB")
    meter.start()
    peer.vectors(peer.prepare(ids))
    return {
        "loaded": loaded - before,
        "peak": meter.peak() - before,
        "peak_of_loading": peak_of_loading - before,
    }


def _build(request: Request, device: torch.device) -> Peer:
    """As a user would: AllenNLP reads the files by itself, the others get what was read from them."""
    entry = entries()[request.peer]
    if request.options_file is None or request.weight_file is None:
        model = random_model(request.size, request.seed)
        return entry.build(model, Setting(device, request.threads), request.precision)
    from elmo_plugin.formats import read_options, read_pair

    files = _GivenFiles(request.options_file, request.weight_file)
    setting = Setting(device, request.threads, files=files)
    if request.peer == "allennlp":
        options, _ = read_options(request.weight_file, request.options_file)
        return entry.build(Model(request.size, options, {}), setting, request.precision)
    weights = read_pair(request.options_file, request.weight_file)
    return entry.build(Model(request.size, weights.options, weights.tensors), setting, request.precision)


class ProcessMeter:
    """Resident memory as the kernel counts it."""

    def now(self) -> int:
        return self._read("VmRSS")

    def peak(self) -> int:
        return self._read("VmHWM")

    def start(self) -> None:
        """Let the peak begin anew from what is resident now."""
        Path("/proc/self/clear_refs").write_text("5")

    def _read(self, name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))


class _CudaMeter:
    """Memory that PyTorch holds on the device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def now(self) -> int:
        return torch.cuda.memory_allocated(self._device)

    def peak(self) -> int:
        return torch.cuda.max_memory_allocated(self._device)

    def start(self) -> None:
        torch.cuda.reset_peak_memory_stats(self._device)


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(main(sys.argv[1])) + "\n")
