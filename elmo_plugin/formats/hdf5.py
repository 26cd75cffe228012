"""
Read and write the pair of files that bilm-tf and AllenNLP use: weights in hdf5, options in JSON.

What that layout has no place for goes into an extra group, see `extra_group`.
"""

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Union

import numpy as np
import torch

from elmo_plugin.engine.errors import EngineError, FormatError, WeightFileError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.tensor_table import check_tensors
from elmo_plugin.formats import extra_group
from elmo_plugin.formats.atomic import replacing
from elmo_plugin.formats.beside import options_target
from elmo_plugin.formats.names import (
    DIRECTIONS,
    SOFTMAX,
    cell_group,
    expected_shapes,
    reader_group,
    softmax_from,
    to_engine,
    to_hdf5,
    unwrapped,
)
from elmo_plugin.formats.unpacked_size import is_too_much, refused
from elmo_plugin.formats.weight_set import WeightSet, check_numbers, inference_options

# How h5py reports a file that is damaged, cut off, or not readable for other reasons
_DAMAGE = (OSError, KeyError, RuntimeError, TypeError, ValueError)


def read(options_file: Union[str, Path], weight_file: Union[str, Path], softmax: bool = True) -> WeightSet:
    """
    Read a pair of files.

    # Parameters

    options_file : the options.json, for training or for inference.
    weight_file : the hdf5 file.
    softmax : read the softmax if the file has one.

    # Raises

    `OptionsError` about the first file, `FormatError` for a damaged second file, `WeightFileError` with one table of
    everything missing, surplus or misshaped if the two do not fit.
    """
    options = BiLmOptions.from_file(options_file)
    with _open(Path(weight_file)) as file:
        datasets = _datasets(file, options)
        _recognise(weight_file, datasets)
        shapes = {name: tuple(dataset.shape or ()) for name, dataset in datasets.items()}
        source = f"{weight_file} (with {options_file})"
        check_tensors(shapes, expected_shapes(options, shapes), source, extra_group.shapes(options, shapes))
        wanted = [name for name in datasets if softmax or name not in SOFTMAX]
        arrays = {name: _array(weight_file, name, datasets[name]) for name in wanted}
    tensors = to_engine(options, arrays)
    extra_group.restore(options, arrays, tensors)
    weights = WeightSet(
        options=options,
        tensors=tensors,
        softmax=softmax_from(arrays),
        vocabulary=extra_group.vocabulary(weight_file, options, arrays),
        source=str(weight_file),
    )
    weights.check()
    return weights


def read_vocabulary(weight_file: Union[str, Path], options: BiLmOptions) -> Optional[List[str]]:
    """
    Read the vocabulary alone.

    # Parameters

    weight_file : the hdf5 file.
    options : the architecture; a word-level model may have its vocabulary in a file beside.

    # Returns

    The words, None if there are none.
    """
    import h5py

    name = extra_group.VOCABULARY
    arrays: Dict[str, np.ndarray] = {}
    with _open(Path(weight_file)) as file:
        stored = file.get(name)
        if isinstance(stored, h5py.Dataset):  # as `read` does, which does not look at anything else of that name
            _check_stored(file, stored)
            arrays[name] = np.asarray(stored[...])
    return extra_group.vocabulary(weight_file, options, arrays)


def dtypes(weight_file: Union[str, Path]) -> List[str]:
    """List the types of the numbers in a file, those of our extra group apart."""
    found: Set[str] = set()

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "dtype") and not name.startswith(extra_group.NAME + "/"):
            found.add(str(item.dtype))

    with _open(Path(weight_file)) as file:
        file.visititems(visit)
    return sorted(found)


def write(weights: WeightSet, weight_file: Union[str, Path]) -> Path:
    """
    Write a pair of files that AllenNLP and bilm-tf read, and that give the same weights bit for bit when read again.

    # Parameters

    weights : what to write.
    weight_file : the hdf5 file; the options go beside it, see `beside.options_target`. Existing files are replaced
        only when both new ones are complete.

    # Returns

    The options file.
    """
    import h5py

    weights.check()
    target = Path(weight_file)
    options = inference_options(weights.options)
    options_file = options_target(target)
    with replacing(target) as weight_part, replacing(options_file) as options_part:
        options_part.write_text(json.dumps(options.to_dict(), indent=2) + "\n", encoding="utf-8")
        with h5py.File(weight_part, "w") as file:
            arrays = to_hdf5(options, weights.tensors)
            for name, tensor in weights.everything().items():
                if name.startswith("softmax."):
                    arrays[{ours: theirs for theirs, ours in SOFTMAX.items()}[name]] = extra_group.as_numpy(tensor)
            for name, array in arrays.items():
                file.create_dataset(name, data=array)
            _link_single_layer(file, options)
            extra_group.write(file, weights, arrays)
    return options_file


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except EngineError:
        raise
    except _DAMAGE as error:
        raise FormatError(
            f"{path}: cannot be read as an hdf5 file ({error}); expected the weights of a biLM. "
            "If it was copied or downloaded, compare its size with the original's and fetch it again."
        ) from error


def _datasets(file: Any, options: BiLmOptions) -> Dict[str, Any]:
    """All datasets; a cell of a one-layer model under one name, whichever the writer chose."""
    import h5py

    found: Dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            _check_stored(file, item)
            found[unwrapped(options, name)] = item

    file.visititems(visit)
    extra_group.check_version(file)
    return found


def _check_stored(file: Any, dataset: Any) -> None:
    """
    Refuse a dataset whose numbers lie in another file, because whoever made this one would choose which is read; and
    one that says it has far more numbers than are stored, which would fill the memory.
    """
    if dataset.external or dataset.is_virtual or dataset.file != file:
        raise FormatError(
            f"{file.filename}: dataset {dataset.name!r} takes its numbers from another file, expected weights that are "
            "complete in themselves. Copy the dataset itself (h5repack does)."
        )
    content, stored = (dataset.size or 0) * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if is_too_much(content, stored):
        raise refused(Path(file.filename), f"its dataset {dataset.name!r} stores {stored} bytes for {content}")


def _recognise(path: Union[str, Path], names: Mapping[str, Any]) -> None:
    """Name the hdf5 files that are commonly taken for weights."""
    if any(name.startswith(("RNN_", "CNN", "char_embed")) for name in names):
        return
    if set(names) == {"embedding"}:
        looks = "token vectors as written by bilm-tf's dump_token_embeddings"
    elif names and all(name.isdigit() or name == "sentence_to_index" for name in names):
        looks = "vectors of sentences as written by `allennlp elmo` or bilm-tf's dump_bilm_embeddings"
    else:
        first = ", ".join(repr(name) for name in sorted(names)[:3]) or "no dataset at all"
        looks = f"something else; it holds {first}"
    raise WeightFileError(
        f"{path}: an hdf5 file, but not the weights of a biLM (datasets 'char_embed', 'CNN/...', 'RNN_0/...'). "
        f"It looks like {looks}. Give the weight file that belongs to the options."
    )


def _array(path: Union[str, Path], name: str, dataset: Any) -> np.ndarray:
    if name == extra_group.VOCABULARY:
        return np.asarray(dataset[...])
    if dataset.dtype.kind != "f":
        raise WeightFileError(
            f"{path}: dataset {name!r} holds {dataset.dtype}, expected float32 as in every biLM. "
            "Write it again as float32."
        )
    array = np.asarray(dataset[...], dtype=np.float32)
    check_numbers(str(path), name, torch.from_numpy(array))  # here, where it has the name that the file gives it
    return array


def _link_single_layer(file: Any, options: BiLmOptions) -> None:
    """bilm-tf dumps a single layer under a name where neither AllenNLP nor bilm-tf's own reader looks: add a link."""
    import h5py

    for direction in range(len(DIRECTIONS) if options.lstm.n_layers == 1 else 0):
        file[reader_group(direction, 0)] = h5py.SoftLink("/" + cell_group(options, direction, 0))
