"""
Read the checkpoints that bilm-tf trains, and the variables of an ELMo module of TensorFlow Hub, without TensorFlow.

The variables are renamed to the datasets of the hdf5 layout, which has the same numbers in the same order, and go on
as if they came from there. What belongs to the training (global step, slots of the optimizer, moving averages) or to a
model around the biLM is left alone on purpose.
"""

import json
import re
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple, Union

import torch

from elmo_plugin.engine.errors import FormatError, WeightFileError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.tensor_table import Shape, check_tensors
from elmo_plugin.formats.architecture import draft_options, missing_options
from elmo_plugin.formats.beside import options_beside, vocabulary_beside
from elmo_plugin.formats.names import SOFTMAX, expected_shapes, reader_group, softmax_from, to_engine, unwrapped
from elmo_plugin.formats.tensor_bundle.bundle import Bundle
from elmo_plugin.formats.weight_set import WeightSet, check_numbers

# bilm-tf: lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell/kernel, without multi_rnn_cell/cell_0 for a single layer
# TensorFlow Hub: bilm/RNN_0/RNN/MultiRNNCell/Cell0/rnn/lstm_cell/kernel
_CELL = re.compile(r"RNN_(\d)/(?:.*/cell_?(\d+)/)?(?:.*/)?lstm_cell/(kernel|bias|projection/kernel)", re.IGNORECASE)
_SCOPED_CELL = re.compile(rf"((?:.*/)?){_CELL.pattern}", re.IGNORECASE)
_IN_CELL = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}
_TRAINING = re.compile(
    r"(global_step|train_perplexity|beta[12]_power)"
    r"|.*/(Adadelta|Adagrad|Adam|ExponentialMovingAverage|Ftrl|Momentum|RMSProp)(_\d+)?"
)


def read(options_file: Optional[Union[str, Path]], index_file: Path, softmax: bool = True) -> WeightSet:
    """
    Read a checkpoint.

    # Parameters

    options_file : the options.json, for training or for inference; None for the one beside the checkpoint.
    index_file : the `x.index` of the checkpoint.
    softmax : read the softmax if the checkpoint has one.

    # Raises

    `OptionsError` about the options, `FormatError` for a damaged checkpoint, `WeightFileError` with one table of
    everything missing, surplus or misshaped if the two do not fit.
    """
    bundle = Bundle(index_file)
    datasets = datasets_of(bundle)
    shapes = {name: bundle.shapes[variable] for name, variable in datasets.items()}
    options_path = Path(options_file) if options_file is not None else find_options(index_file, shapes)
    options = BiLmOptions.from_file(options_path)
    datasets = {unwrapped(options, name): variable for name, variable in datasets.items()}
    shapes = {name: bundle.shapes[variable] for name, variable in datasets.items()}
    expected = expected_shapes(options, shapes)
    check_tensors(shapes, expected, f"{index_file} (with {options_path})")
    arrays = {name: bundle.read(datasets[name]) for name in expected if softmax or name not in SOFTMAX}
    for name, array in arrays.items():
        check_numbers(str(index_file), datasets[name], torch.from_numpy(array))
    needs_words = options.is_word_level or "softmax/W" in arrays
    weights = WeightSet(
        options=options,
        tensors=to_engine(options, arrays),
        softmax=softmax_from(arrays),
        vocabulary=vocabulary_beside(index_file) if needs_words else None,
        source=str(index_file),
    )
    weights.check()
    return weights


def read_options(options_file: Optional[Union[str, Path]], index_file: Path) -> Tuple[BiLmOptions, Optional[List[str]]]:
    """Read the options and the vocabulary of a word-level model alone; as `read` otherwise."""
    if options_file is None:
        bundle = Bundle(index_file)
        shapes = {name: bundle.shapes[variable] for name, variable in datasets_of(bundle).items()}
        options_file = find_options(index_file, shapes)
    options = BiLmOptions.from_file(options_file)
    return options, vocabulary_beside(index_file) if options.is_word_level else None


def datasets_of(bundle: Bundle) -> Dict[str, str]:
    """
    Find the variables of the biLM.

    # Parameters

    bundle : the checkpoint.

    # Returns

    Dataset of the hdf5 layout to variable; a variable of the same scope that has no dataset keeps its name. A single
    layer has the names of `names.reader_group`.

    # Raises

    `WeightFileError` where there is no biLM, or more than one.
    """
    cells = [match for match in map(_SCOPED_CELL.fullmatch, bundle.shapes) if match is not None]
    scopes = {match.group(1) for match in cells}
    if len(scopes) != 1:
        found = f"several, in {sorted(scopes)}" if scopes else _listed(list(bundle.shapes))
        raise WeightFileError(
            f"{bundle.path}: a TensorFlow checkpoint, expected one biLM of bilm-tf or TensorFlow Hub in it (variables "
            f"such as 'lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell/kernel'), found {found}. Is it the checkpoint of "
            "the language model?"
        )
    scope = scopes.pop()
    datasets: Dict[str, str] = {}
    for variable in bundle.shapes:
        if not variable.startswith(scope) or _TRAINING.fullmatch(variable):
            continue
        name = _dataset(variable[len(scope) :])
        if name in datasets:
            raise FormatError(f"{bundle.path}: {datasets[name]!r} and {variable!r} are both {name!r} of one biLM.")
        datasets[name] = variable
    return datasets


def find_options(index_file: Path, shapes: Mapping[str, Shape]) -> Path:
    """
    Find the options.json of a checkpoint: beside it, or beside the folder `variables` of a SavedModel.

    # Parameters

    index_file : the checkpoint.
    shapes : dataset to shape, for the message.

    # Raises

    `WeightFileError` that says what the variables tell about the options, and what they do not tell.
    """
    if index_file.parent.name == "variables" and (index_file.parent.parent / "options.json").is_file():
        return index_file.parent.parent / "options.json"
    try:
        return options_beside(index_file, "a TensorFlow checkpoint")
    except WeightFileError as error:
        draft = draft_options(shapes)
        raise WeightFileError(
            f"{error} Its variables say {json.dumps(draft)}; they do not say {', '.join(missing_options(draft))}, on "
            "which the vectors depend."
        ) from error


def _dataset(name: str) -> str:
    """The dataset for a variable without its scope."""
    cell = _CELL.fullmatch(name)
    if cell is None:
        return name
    direction, layer, part = cell.groups()
    return f"{reader_group(int(direction), int(layer or 0))}/{_IN_CELL[part.lower()]}"


def _listed(names: List[str]) -> str:
    return (", ".join(repr(name) for name in names[:3]) + (", ..." if len(names) > 3 else "")) or "no variables"
