"""
Read the biLM out of a trained AllenNLP model: `model.tar.gz`, a serialization directory, or a `.th` file.

AllenNLP itself is not needed. Nothing is unpacked but the weights, and they are read without running code from them.
"""

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import torch

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats.allennlp_config import options_named
from elmo_plugin.formats.allennlp_names import BILM_PREFIX, from_allennlp
from elmo_plugin.formats.record import ALLENNLP_BILM, BILM, LSTM_ONLY, BiLmRecord, records_in
from elmo_plugin.formats.tar_members import is_tar, read_member, take_out
from elmo_plugin.formats.torch_file import float32_copy, load_state
from elmo_plugin.formats.weight_set import WeightSet

#: what AllenNLP calls the weights in an archive, and the best weights of a running training
ARCHIVE_WEIGHTS = "weights.th"
BEST_WEIGHTS = "best.th"
CONFIG = "config.json"

#: by which a biLM of AllenNLP's own `Elmo` is known, behind `BILM_PREFIX`
STOCK_TENSOR = "_token_embedder._char_embedding_weights"

_MAX_CONFIG = 1 << 24


def read(
    path: Union[str, Path], module: Optional[str] = None, options_file: Optional[Union[str, Path]] = None
) -> WeightSet:
    """
    Read the biLM of a trained model, fine-tuned or not.

    # Parameters

    path : `model.tar.gz`, a serialization directory (`weights.th`, else `best.th`), or a file of weights.
    module : path of the module that has the biLM; needed only where a model has several that differ.
    options_file : the options.json of a biLM that AllenNLP's own `Elmo` keeps; None for the one that config.json names.

    # Returns

    The biLM, float32. Its `source` is `path` and the module.

    # Raises

    `FormatError` where there is no biLM, or where several differ and none was chosen.
    """
    with _weights_file(Path(path)) as weights:
        state = load_state(weights, str(path))
        candidates = _candidates(_complete(state, path, options_file), module, str(path))
        found, *others = (
            _weight_set(state, prefix, record, f"{path} ({(prefix + record.tensors).rstrip('.')})")
            for prefix, record in candidates.items()
        )
        if not all(_is_same(found, other) for other in others):
            raise _several(path, candidates)
        return found


def read_options(
    path: Union[str, Path], options_file: Optional[Union[str, Path]] = None
) -> Tuple[BiLmOptions, Optional[List[str]]]:
    """Read the options and the vocabulary alone, and no tensor; as `read` otherwise."""
    with _weights_file(Path(path)) as weights:
        state = load_state(weights, str(path))
        candidates = _candidates(_complete(state, path, options_file), None, str(path))
    (found, *others) = [(record.options, record.vocabulary) for record in candidates.values()]
    if any(other != found for other in others):
        raise _several(path, candidates)
    return found


def read_saved(directory: Union[str, Path], name: str, source: str, part: str = BILM) -> Optional[WeightSet]:
    """
    Read the biLM that a configuration calls `source` from a folder that AllenNLP trains in or unpacked.

    # Parameters

    directory : the folder.
    name : `ARCHIVE_WEIGHTS` or `BEST_WEIGHTS`.
    source : what the configuration called the weights when the model was trained.
    part : `BILM`, or `LSTM_ONLY` for the stack of an encoder, which is then all that the result has.

    # Returns

    The biLM, or None where there is no such file or it has no biLM of that source.
    """
    found = find_saved(directory, name, source, part)
    return None if found is None else _weight_set(*found, source)


def find_saved(
    directory: Union[str, Path], name: str, source: str, part: str = BILM
) -> Optional[Tuple[Mapping[str, Any], str, BiLmRecord]]:
    """Like `read_saved`, but return the state dict, the module's path and its record; no tensor is read."""
    path = Path(directory) / name
    if not path.is_file():
        return None
    state = load_state(path, str(path))
    for prefix, record in records_in(state, str(path)).items():
        if record.source == source and (record.layout == LSTM_ONLY) == (part == LSTM_ONLY):
            return state, prefix, record
    return None


def _complete(
    state: Mapping[str, Any], path: Union[str, Path], options_file: Optional[Union[str, Path]]
) -> Dict[str, BiLmRecord]:
    """The biLMs of a model: those that keep their options, else those of AllenNLP's own `Elmo`."""
    records = records_in(state, str(path))
    complete = {prefix: record for prefix, record in records.items() if record.layout != LSTM_ONLY}
    stock = [name[: -len(STOCK_TENSOR)] for name in state if name.endswith(BILM_PREFIX + STOCK_TENSOR)]
    if complete or not stock:
        if options_file is not None:
            raise FormatError(
                f"{path}: looks like a trained model, which knows its own options, but {options_file} is given with "
                "it. Leave the options file out, or give the weight file."
            )
        return complete
    if options_file is not None:
        options = BiLmOptions.from_file(options_file)
    else:
        options = options_named(_config(Path(path)), str(path))
    return {prefix: BiLmRecord(options, "AllenNLP", tensors="", layout=ALLENNLP_BILM) for prefix in stock}


@contextmanager
def _weights_file(path: Path) -> Iterator[Path]:
    """Yield the file of weights behind `path`; taken out of an archive for the time being where it is in one."""
    if path.is_dir():
        candidates = [path / ARCHIVE_WEIGHTS, path / BEST_WEIGHTS]
        found = next((candidate for candidate in candidates if candidate.is_file()), None)
        if found is None:
            raise FormatError(f"{path}: neither {ARCHIVE_WEIGHTS} nor {BEST_WEIGHTS} is in this folder.")
        yield found
    elif not path.is_file():
        raise FormatError(f"{path}: no such file or folder; expected a model.tar.gz, its folder or a .th file.")
    elif not is_tar(path):
        yield path
    else:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / ARCHIVE_WEIGHTS
            take_out(path, {ARCHIVE_WEIGHTS: target}, str(path))
            yield target


def _config(path: Path) -> Optional[str]:
    """The text of config.json in an archive, or beside a file of weights; None where there is none."""
    if path.is_file() and is_tar(path):
        content = read_member(path, CONFIG, _MAX_CONFIG)
    else:
        file = (path if path.is_dir() else path.parent) / CONFIG
        content = file.read_bytes() if file.is_file() else None
    return None if content is None else content.decode("utf-8", "replace")


def _candidates(records: Dict[str, BiLmRecord], module: Optional[str], where: str) -> Dict[str, BiLmRecord]:
    if not records:
        raise FormatError(
            f"{where}: no biLM is in this model: none of this plugin, which keeps its options, and none of AllenNLP's "
            "own Elmo."
        )
    if module is not None:
        prefix = module.rstrip(".") + "." if module else ""
        if prefix not in records:
            raise FormatError(f"{where}: module {module!r} has no biLM; those that have one: {_names(records)}.")
        return {prefix: records[prefix]}
    return records


def _several(path: Union[str, Path], candidates: Dict[str, BiLmRecord]) -> FormatError:
    return FormatError(
        f"{path}: several biLMs that differ are in this model, in the modules {_names(candidates)}. Read one "
        "with elmo_plugin.formats.archive.read(path, module=...), and write it to a file of its own."
    )


def _is_same(one: WeightSet, other: WeightSet) -> bool:
    ours, theirs = one.everything(), other.everything()
    is_alike = (one.options, one.vocabulary, set(ours)) == (other.options, other.vocabulary, set(theirs))
    return is_alike and all(torch.equal(ours[name], theirs[name]) for name in ours)


def _names(records: Dict[str, BiLmRecord]) -> str:
    return ", ".join(repr(prefix.rstrip(".")) for prefix in sorted(records))


def _weight_set(state: Mapping[str, Any], prefix: str, record: BiLmRecord, source: str) -> WeightSet:
    start = prefix + record.tensors
    names = [name for name in state if name.startswith(start)]
    tensors = {name[len(start) :]: float32_copy(state, name, source) for name in names}
    if record.layout == ALLENNLP_BILM:
        tensors = from_allennlp({BILM_PREFIX + name: tensor for name, tensor in tensors.items()})
    if record.layout == LSTM_ONLY:
        tensors = {"lstm." + name: tensor for name, tensor in tensors.items()}
    softmax = None
    if record.softmax is not None:
        softmax = {part: float32_copy(state, prefix + name, source) for part, name in record.softmax.items()}
    return WeightSet(
        options=record.options, tensors=tensors, softmax=softmax, vocabulary=record.vocabulary, source=source
    )
