"""
What a module with a biLM writes beside its tensors, so that an archive says by itself which biLM it holds.

Tensors alone do not tell the clips, the activation or the vocabulary. The record is a tensor of bytes in the state
dict of the module (PyTorch's extra state), so that it goes wherever the weights go: into checkpoints, `best.th` and
`model.tar.gz`. Modules that must keep AllenNLP's names, where one more key would be refused, put the same text into
the state dict's metadata instead.
"""

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

import torch

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats.torch_file import stores_its_numbers

#: PyTorch's name for what `get_extra_state` returns
EXTRA_STATE = "_extra_state"

#: key of the record in a state dict's metadata
METADATA = "elmo_plugin.bilm"

_FORMAT = "elmo_plugin.bilm/1"

#: which tensors a module keeps and what it calls them: a biLM under the engine's names, or under those of
#: `allennlp.modules.elmo.Elmo`; or only the LSTM stack of a biLM
BILM, ALLENNLP_BILM, LSTM_ONLY = LAYOUTS = ("engine", "allennlp", "lstm")


@dataclass(frozen=True)
class BiLmRecord:
    """
    What is needed beside the tensors to build a biLM again.

    # Parameters

    options : its architecture.
    source : what the configuration called the weights; tells the biLMs of one model apart.
    tensors : prefix of the biLM's tensors, relative to the module that keeps the record.
    layout : one of `LAYOUTS`.
    vocabulary : the words of a word-level biLM, or of the softmax.
    softmax : names of the softmax tensors, `{"weight": ..., "bias": ...}`, relative to the module.
    """

    options: BiLmOptions
    source: str
    tensors: str = "bilm."
    layout: str = BILM
    vocabulary: Optional[List[str]] = None
    softmax: Optional[Mapping[str, str]] = None

    def to_json(self) -> str:
        """Write the record as a line of JSON."""
        data: Dict[str, Any] = {
            "format": _FORMAT,
            "options": self.options.to_dict(),
            "source": self.source,
            "tensors": self.tensors,
            "layout": self.layout,
            "vocabulary": self.vocabulary,
            "softmax": None if self.softmax is None else dict(self.softmax),
        }
        return json.dumps(data, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str) -> "BiLmRecord":
        """
        Read what `to_json` wrote.

        # Parameters

        text : the line of JSON.
        where : what to call the place in messages.

        # Raises

        `FormatError` where it is something else.
        """
        try:
            data = json.loads(text)
            if data["format"] != _FORMAT:
                raise FormatError(f"{where}: a record of format {data['format']!r}, expected {_FORMAT!r}.")
            if data["layout"] not in LAYOUTS:
                raise FormatError(
                    f"{where}: a record with the layout {data['layout']!r}, expected one of {list(LAYOUTS)}. "
                    "If a newer elmo_plugin wrote it, update elmo_plugin."
                )
            _check_types(data)
            return cls(
                options=BiLmOptions.from_dict(data["options"], source=where),
                source=data["source"],
                tensors=data["tensors"],
                layout=data["layout"],
                vocabulary=data["vocabulary"],
                softmax=data["softmax"],
            )
        except (KeyError, TypeError, RecursionError, json.JSONDecodeError) as error:
            raise FormatError(f"{where}: not the record of a biLM ({error!r}).") from error

    def to_tensor(self) -> torch.Tensor:
        """The record as a tensor of bytes, for a module's `get_extra_state`."""
        return torch.frombuffer(bytearray(self.to_json().encode("utf-8")), dtype=torch.uint8)

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor, where: str) -> "BiLmRecord":
        """Read what `to_tensor` made; raises `FormatError` where it is something else."""
        if not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.uint8 or tensor.dim() != 1:
            raise FormatError(f"{where}: not the record of a biLM, which is a row of bytes.")
        try:
            return cls.from_json(bytes(tensor.cpu().numpy()).decode("utf-8"), where)
        except UnicodeDecodeError as error:
            raise FormatError(f"{where}: not the record of a biLM ({error!r}).") from error


def _check_types(data: Mapping[str, Any]) -> None:
    """Raise `TypeError` where a part of a record is something else than `BiLmRecord` says."""
    words, softmax = data["vocabulary"], data["softmax"]
    if softmax is not None and not (isinstance(softmax, dict) and set(softmax) == {"weight", "bias"}):
        raise TypeError("softmax")
    if words is not None and not isinstance(words, list):
        raise TypeError("vocabulary")
    texts = [data["source"], data["tensors"], *(words or []), *(softmax or {}).values()]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("source, tensors, vocabulary or softmax")


def records_in(state: Mapping[str, Any], where: str) -> Dict[str, BiLmRecord]:
    """
    Find the biLMs of a model.

    # Parameters

    state : a state dict, with its metadata where it has any.
    where : what to call it in messages.

    # Returns

    Path of the module that keeps the record, "" or ending with a dot, to the record.
    """
    found: Dict[str, BiLmRecord] = {}
    for name, value in state.items():
        if name == EXTRA_STATE or name.endswith("." + EXTRA_STATE):
            is_ours = isinstance(value, torch.Tensor) and value.dtype == torch.uint8 and stores_its_numbers(value)
            if is_ours and _FORMAT.encode() in bytes(value[: 2 * len(_FORMAT)].cpu().numpy()):
                found[name[: -len(EXTRA_STATE)]] = BiLmRecord.from_tensor(value, f"{where}: {name}")
    for module, metadata in getattr(state, "_metadata", {}).items():
        if METADATA in metadata:
            prefix = module + "." if module else ""
            found[prefix] = BiLmRecord.from_json(metadata[METADATA], f"{where}: {module}")
    return found
