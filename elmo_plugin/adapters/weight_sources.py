"""
Find the biLM that a configuration names: by files, by name, by URL, or in the archive that is being loaded.

An archive of AllenNLP's keeps the configuration, and with it the path that the weights had when the model was trained.
Our components also write a record beside their tensors (`elmo_plugin.formats.record`), and AllenNLP passes the folder
of the archive down to each component that asks for `serialization_dir`. So an archive loads without the files.
"""

import logging
from typing import Callable, List, Optional, Tuple, TypeVar

from allennlp.common.checks import ConfigurationError

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats import archive, read_options, read_pair, read_weights
from elmo_plugin.formats.record import BILM
from elmo_plugin.formats.weight_set import WeightSet

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: the biLM that comes with this package
DEFAULT_WEIGHTS = "builtin"


def source_name(weights: Optional[str], options_file: Optional[str], weight_file: Optional[str]) -> str:
    """
    Say in one string which biLM a configuration asks for.

    # Parameters

    weights : a name, a folder, a file, an archive or a URL.
    options_file, weight_file : the pair of files, the old way to say it.

    # Raises

    `ConfigurationError` where both ways are used, or half of the pair.
    """
    if weights is not None:
        for name, value in (("options_file", options_file), ("weight_file", weight_file)):
            if value is not None:
                raise ConfigurationError(
                    f'"weights" ({weights}) and "{name}" ({value}) both name a biLM. Give "weights" alone, or '
                    '"options_file" and "weight_file".'
                )
        return weights
    if options_file is None and weight_file is None:
        return DEFAULT_WEIGHTS
    if options_file is None or weight_file is None:
        given, missing = ("weight_file", "options_file") if options_file is None else ("options_file", "weight_file")
        raise ConfigurationError(f'"{given}" is given without "{missing}". Give both, or "weights".')
    return f"{options_file} + {weight_file}"


def find_weights(
    weights: Optional[str] = None,
    options_file: Optional[str] = None,
    weight_file: Optional[str] = None,
    serialization_dir: Optional[str] = None,
    part: str = BILM,
    softmax: bool = False,
) -> WeightSet:
    """
    Read the biLM.

    While an archive is loaded (`weights.th` is in `serialization_dir`), the archive comes first, so that what happened
    to the files since the training does not matter. Where a training goes on, or its folder is loaded (`best.th`),
    the files come first, and the saved weights serve where the files are gone.

    # Parameters

    weights, options_file, weight_file : as for `source_name`; nothing for the biLM of this package.
    serialization_dir : the folder that AllenNLP trains in or loads from.
    part : what the asking component keeps in archives: `BILM`, or `LSTM_ONLY`, which the result may then be short of.
    softmax : read the softmax of the language model too, where there is one.

    # Raises

    `ConfigurationError` for contradicting parameters, and what reading the files raises.
    """
    source = source_name(weights, options_file, weight_file)

    def in_files() -> WeightSet:
        if options_file is not None and weight_file is not None:
            return read_pair(options_file, weight_file, softmax)
        return read_weights(source, softmax)

    def in_folder(folder: str, name: str) -> Optional[WeightSet]:
        return archive.read_saved(folder, name, source, part)

    return _first_found(serialization_dir, in_folder, in_files)


def find_architecture(weights: str, serialization_dir: Optional[str] = None) -> Tuple[BiLmOptions, Optional[List[str]]]:
    """
    Read what a token indexer needs: the options and, where there is one, the vocabulary.

    # Parameters

    weights, serialization_dir : as for `find_weights`.
    """

    def in_folder(folder: str, name: str) -> Optional[Tuple[BiLmOptions, Optional[List[str]]]]:
        saved = archive.find_saved(folder, name, weights)
        return None if saved is None else (saved[2].options, saved[2].vocabulary)

    return _first_found(serialization_dir, in_folder, lambda: read_options(weights))


def _first_found(
    serialization_dir: Optional[str], in_folder: Callable[[str, str], Optional[T]], in_files: Callable[[], T]
) -> T:
    """Look into an unpacked archive, then at the files, then at the best weights of a training."""
    if serialization_dir is not None:
        saved = in_folder(serialization_dir, archive.ARCHIVE_WEIGHTS)
        if saved is not None:
            return saved
    try:
        return in_files()
    except (EngineError, OSError) as error:
        saved = None if serialization_dir is None else in_folder(serialization_dir, archive.BEST_WEIGHTS)
        if saved is None:
            raise
        logger.warning("%s Using the biLM of %s in %s instead.", error, archive.BEST_WEIGHTS, serialization_dir)
        return saved
