"""The original TensorFlow biLM, in a process and an environment of its own."""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict

import numpy as np
import torch

from elmo_plugin.benchmark.peers.base import Peer, PeerUnavailableError, Setting, stock_memory
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.benchmark.transcription import with_boundaries

#: not part of the package, since it is for another Python
WORKER = Path(__file__).parents[3] / "benchmarks" / "peers" / "bilm_tf_worker.py"

# bilm-tf keeps states for so many rows
_MAX_BATCH = 1024


class BilmTfPeer(Peer):
    """PyPI's `bilm` 0.1.post5 on TensorFlow 1.15; times are taken inside its process."""

    def __init__(self, model: Model, setting: Setting, precision: str) -> None:
        super().__init__("bilm-tf", precision, setting.device)
        if setting.bilm_tf_python is None:
            raise PeerUnavailableError("needs an environment of its own: give its interpreter by --bilm-tf PYTHON")
        if not WORKER.exists():
            raise PeerUnavailableError(f"{WORKER} is not there: needs a checkout of the repository")
        if setting.device.type != "cpu":
            raise PeerUnavailableError("is measured on the CPU only")
        self._model = model
        self._folder = TemporaryDirectory(prefix="elmo-bilm-tf-")
        self._prepared = 0
        try:
            self._process = subprocess.Popen(
                [str(setting.bilm_tf_python), str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError as error:
            raise PeerUnavailableError(f"{setting.bilm_tf_python} cannot be run ({error.strerror})") from error
        options_file, weight_file = setting.files.of(model)
        try:
            self._ask(
                do="load",
                options=str(options_file),
                weights=str(weight_file),
                threads=setting.threads,
                max_batch=_MAX_BATCH,
            )
        except PeerUnavailableError:
            self.close()
            raise

    def prepare(self, ids: torch.Tensor) -> str:
        bounded, _ = with_boundaries(ids)
        self._prepared += 1
        key = str(self._prepared)
        path = self._path(key)
        np.save(path, bounded.numpy().astype(np.int32))
        self._ask(do="prepare", key=key, ids=str(path))
        path.unlink()
        return key

    def layers(self, prepared: str) -> torch.Tensor:
        return self._fetch("layers", prepared)

    def vectors(self, prepared: str) -> torch.Tensor:
        return self._fetch("vectors", prepared)

    def seconds(self, prepared: str) -> float:
        return float(self._ask(do="time", key=prepared))

    def memory_needed(self, ids: torch.Tensor) -> int:
        return stock_memory(self._model, ids, self.precision)

    def close(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]
        self._folder.cleanup()

    def _fetch(self, what: str, key: str) -> torch.Tensor:
        path = self._path("answer")
        self._ask(do=what, key=key, target=str(path))
        array = np.load(path)
        path.unlink()
        return torch.from_numpy(array)

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.npy"

    def _ask(self, **request: Any) -> Any:
        try:
            self._process.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
            line = self._process.stdout.readline()  # type: ignore[union-attr]
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerUnavailableError(f"its process ended during {request['do']!r} (out of memory?)")
        answer: Dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerUnavailableError(f"{request['do']}: {answer['error']}")
        return answer["ok"]
