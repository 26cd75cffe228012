"""
The checkpoints of a training: which files belong together, which of them are complete, which hold finite weights.

AllenNLP writes `model_state_eE_bB.th` and `training_state_eE_bB.th` after `E` epochs and `B` batches; the checkpointer
`elmo` adds `process_state_eE_bB_wR.th` for each process `R`.
"""

import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set, Union

import torch

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats.torch_file import load_state

_FILE = re.compile(r"(model|training|process)_state_e(\d+)_b(\d+)(?:_w(\d+))?\.th")


class Checkpoint(NamedTuple):
    """After so many epochs, and so many batches of the next one; the later one is the larger one."""

    epochs: int
    batches: int

    def model_state(self, folder: Union[str, Path]) -> Path:
        return self._file(folder, "model")

    def training_state(self, folder: Union[str, Path]) -> Path:
        return self._file(folder, "training")

    def process_state(self, folder: Union[str, Path], rank: int) -> Path:
        return self._file(folder, "process", f"_w{rank}")

    def process_states(self, folder: Union[str, Path]) -> List[Path]:
        """The files of all processes that are there."""
        return sorted(Path(folder).glob(self._file(folder, "process", "_w*").name))

    def _file(self, folder: Union[str, Path], kind: str, suffix: str = "") -> Path:
        return Path(folder) / f"{kind}_state_e{self.epochs}_b{self.batches}{suffix}.th"


def find_checkpoints(folder: Union[str, Path]) -> Dict[Checkpoint, Set[str]]:
    """What there is of each checkpoint: "model", "training", and "process0" and so on."""
    found: Dict[Checkpoint, Set[str]] = {}
    for path in Path(folder).glob("*_state_e*_b*.th"):
        match = _FILE.fullmatch(path.name)
        if match is not None:
            kind, epochs, batches, rank = match.groups()
            found.setdefault(Checkpoint(int(epochs), int(batches)), set()).add(kind + (rank or ""))
    return found


def last_finite(folder: Union[str, Path]) -> Optional[Path]:
    """The weights of the last checkpoint that can be read and hold nothing but finite numbers; None without one."""
    for point in sorted(find_checkpoints(folder), reverse=True):
        path = point.model_state(folder)
        try:
            if path.is_file() and not infinite_tensors(load_state(path, str(path))):
                return path
        except FormatError:
            continue  # cut off while it was written
    return None


def infinite_tensors(state: Mapping[str, Any]) -> List[str]:
    """Names of the tensors that hold a NaN or an infinite number."""
    tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    # One pass and no copy: a sum with such a number in it is never finite. A finite tensor may have an infinite sum.
    suspects = [
        name
        for name, tensor in tensors.items()
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor.sum()))
    ]
    return [name for name in suspects if not bool(torch.isfinite(tensors[name]).all())]
