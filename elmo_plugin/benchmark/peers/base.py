"""What is measured: anything that turns character ids into the layers of a biLM."""

import json
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from elmo_plugin.benchmark.sizes import Model

#: the precisions that are dtypes
DTYPES: Dict[str, torch.dtype] = {"float32": torch.float32, "float64": torch.float64}


class PeerUnavailableError(RuntimeError):
    """A peer cannot run here; the message says why."""


class WeightFiles:
    """The models as pairs of files, for peers that read nothing else. Written when first asked for."""

    def __init__(self) -> None:
        self._folder: Optional[TemporaryDirectory] = None
        self._written: Dict[str, Tuple[Path, Path]] = {}

    def of(self, model: Model) -> Tuple[Path, Path]:
        """
        Return the paths of options.json and weights.hdf5.

        # Raises

        `PeerUnavailableError` without h5py.
        """
        if model.size not in self._written:
            try:
                import h5py  # noqa: F401
            except ImportError as error:
                raise PeerUnavailableError("h5py is not installed, which its weight files need") from error
            from elmo_plugin.formats import WeightSet, write_weights

            if self._folder is None:
                self._folder = TemporaryDirectory(prefix="elmo-benchmark-")
            folder = Path(self._folder.name) / model.size
            write_weights(WeightSet(model.options, model.tensors, source=model.size), folder / "weights.hdf5")
            # bilm-tf and AllenNLP read the same keys; numbers only, as bilm-tf writes them
            (folder / "options.json").write_text(json.dumps(model.options.to_dict()))
            self._written[model.size] = folder / "options.json", folder / "weights.hdf5"
        return self._written[model.size]

    def close(self) -> None:
        """Remove all files."""
        if self._folder is not None:
            self._folder.cleanup()
        self._folder, self._written = None, {}


@dataclass(frozen=True)
class Setting:
    """
    Where and how a peer runs.

    # Parameters

    device : of the tensors.
    threads : number of threads.
    bilm_tf_python : interpreter of an environment with bilm-tf; None without.
    files : the models as files.
    """

    device: torch.device
    threads: int
    bilm_tf_python: Optional[Path] = None
    files: WeightFiles = field(default_factory=WeightFiles)


class Peer(ABC):
    """
    One way to compute a biLM, ready to run. Every call starts from the zero state.

    # Parameters

    name : what to call it in tables.
    precision : what it computes in.
    device : where.
    """

    #: whether it should give the same vectors; where not, its speed stands for orientation only
    same_function = True

    #: how it rounds, a name of `agreement.TOLERANCE`
    rounding: str

    def __init__(self, name: str, precision: str, device: torch.device) -> None:
        self.name = name
        self.precision = self.rounding = precision
        self.device = device

    def prepare(self, ids: torch.Tensor) -> Any:
        """
        Bring a batch to where it is computed; not timed.

        # Parameters

        ids : `(batch, words, characters)`, int64, 0 for padding, on the CPU.
        """
        return ids.to(self.device)

    @abstractmethod
    def layers(self, prepared: Any) -> torch.Tensor:
        """All layers without boundaries: `(num_layers, batch, words, 2 * projection)`."""

    @abstractmethod
    def vectors(self, prepared: Any) -> torch.Tensor:
        """The mean of all layers, as a task model takes them in: `(batch, words, 2 * projection)`. This is timed."""

    def memory_needed(self, ids: torch.Tensor) -> int:
        """About how many bytes a batch takes beside the weights, where that may be more than the machine has."""
        return 0

    def seconds(self, prepared: Any) -> float:
        """Compute the vectors once and return how long it took."""
        self._wait()
        begun = time.perf_counter()
        self.vectors(prepared)
        self._wait()
        return time.perf_counter() - begun

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def close(self) -> None:  # noqa: B027  most have nothing to close
        """Give back what garbage collection does not."""


@dataclass(frozen=True)
class Entry:
    """
    A peer that can be asked for by name.

    # Parameters

    build : model, setting and precision to a peer; raises `PeerUnavailableError`.
    is_ours : whether it is this engine, which is measured in every precision asked for; others keep to float32.
    """

    build: Callable[[Model, Setting, str], Peer]
    is_ours: bool = False


def stock_memory(model: Model, ids: torch.Tensor, precision: str) -> int:
    """
    Estimate what AllenNLP's character CNN takes: the widest convolution over all places of a padded batch.

    # Parameters

    model : whose filters.
    ids : `(batch, words, characters)`.
    precision : of the numbers.
    """
    assert model.options.char_cnn is not None, model.options
    places = ids.shape[0] * (ids.shape[1] + 2)
    widest = max(count for _, count in model.options.char_cnn.filters)
    # once as it comes out, once more inside the convolution
    return 2 * places * ids.shape[2] * widest * torch.empty((), dtype=DTYPES[precision]).element_size()
