"""
Weight files in and out.

- `read_weights`: a name, a URL, a folder or a file, told apart by content
- `read_pair`: options and weights named one by one
- `read_options`: the options and the vocabulary alone
- `write_weights`: hdf5 with options.json for AllenNLP and bilm-tf, or our own safetensors
- `WeightSet`: what they all give and take
- `allennlp_names`: the names of AllenNLP's state dict
"""

from dataclasses import replace
from pathlib import Path
from typing import List, Optional, Tuple, Union

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats import archive, hdf5, many_langs, recognise, safetensors, tf_checkpoint, zip_files
from elmo_plugin.formats.beside import options_beside
from elmo_plugin.formats.recognise import kind_of, weight_file_in
from elmo_plugin.formats.sources import Source, locate, locate_pair
from elmo_plugin.formats.weight_set import WeightSet

__all__ = ["WeightSet", "read_options", "read_pair", "read_weights", "write_weights"]


def read_weights(source: Source, softmax: bool = True) -> WeightSet:
    """
    Read a biLM.

    # Parameters

    source : a name ("builtin", or one of the published "small", "medium", "original", "original_5.5B"), a URL, a weight
        file, a TensorFlow checkpoint, a trained AllenNLP model (`model.tar.gz`), an ELMoForManyLangs folder, or a
        folder or zip file that holds one of these. A name wins over a folder of the same name; write "./small" for the
        folder. An hdf5 file or a checkpoint has its options beside it: `x_options.json` for `x_weights.hdf5`, or
        `options.json`.
    softmax : read the softmax of the language model if there is one. It is large, and vectors do not need it.

    # Raises

    `WeightFileError`, `FormatError` or `OptionsError`, naming the file, what was found and what was expected.
    """
    return _read(*locate(source), softmax)


def read_pair(options_file: Source, weight_file: Source, softmax: bool = True) -> WeightSet:
    """
    Read a biLM from its options and its weights.

    # Parameters

    options_file : path or URL of the options.json.
    weight_file : path or URL of the hdf5 or safetensors file or the checkpoint, or of a folder or zip file with it.
    softmax : as for `read_weights`.

    # Raises

    `WeightFileError` with one table of what is missing, surplus or misshaped if the two are not a pair; else as
    `read_weights`.
    """
    return _read(*locate_pair(options_file, weight_file), softmax)


def read_options(source: Source, options_file: Optional[Source] = None) -> Tuple[BiLmOptions, Optional[List[str]]]:
    """
    Read what is known about a biLM beside its weights, quickly.

    # Parameters

    source : as `read_weights` takes it.
    options_file : with it, `source` is the weight file of a pair, as for `read_pair`.

    # Returns

    The options, and the vocabulary if there is one.
    """
    options_path, weight_path = locate(source) if options_file is None else locate_pair(options_file, source)
    return _read_options(options_path, weight_path)


def check_target(path: Path, dtype: str) -> None:
    """Raise `FormatError` for a file that `write_weights` cannot write: another suffix, or a dtype that it has not."""
    if path.suffix not in (".hdf5", ".h5", ".safetensors"):
        raise FormatError(f"{path}: unknown suffix {path.suffix!r}; choose one of ['.hdf5', '.h5', '.safetensors'].")
    if path.suffix != ".safetensors" and dtype != "float32":
        raise FormatError(f"{path}: hdf5 weights are float32, found dtype {dtype!r}. Use .safetensors for it.")
    if dtype not in safetensors.DTYPES:
        raise FormatError(f"{path}: unknown dtype {dtype!r}; choose one of {list(safetensors.DTYPES)}.")


def write_weights(weights: WeightSet, path: Union[str, Path], dtype: str = "float32") -> None:
    """
    Write a biLM. A file that exists is replaced only when the new one is complete.

    # Parameters

    weights : what to write.
    path : its suffix names the format: `.hdf5` or `.h5` for AllenNLP and bilm-tf, with the options beside it as
        `x_options.json`; `.safetensors` for our own, with the options inside.
    dtype : "float32", or "float16" or "bfloat16" to store a safetensors file in half the space.

    # Raises

    `FormatError` for another suffix, or for a dtype that the format does not have; `WeightFileError` if the weights are
    incomplete or not finite.
    """
    path = Path(path).expanduser()
    check_target(path, dtype)
    if path.suffix == ".safetensors":
        safetensors.write(weights, path, dtype)
    else:
        hdf5.write(weights, path)


def _read(options_file: Optional[Path], weight_file: Path, softmax: bool) -> WeightSet:
    kind = kind_of(weight_file)
    if kind == recognise.SAFETENSORS:
        return safetensors.read(weight_file, options_file, softmax)
    if kind == recognise.HDF5:
        return hdf5.read(options_file or options_beside(weight_file), weight_file, softmax)
    if kind == recognise.TF_CHECKPOINT:
        return tf_checkpoint.read(options_file, weight_file, softmax)
    if kind == recognise.ZIP:
        with zip_files.unpacked(weight_file) as folder:
            return replace(_read(options_file, weight_file_in(folder), softmax), source=str(weight_file))
    if kind == recognise.ARCHIVE:
        return _read_archive(options_file, weight_file, softmax)
    _refuse_options(options_file, weight_file)
    return many_langs.read(weight_file)


def _read_options(options_file: Optional[Path], weight_file: Path) -> Tuple[BiLmOptions, Optional[List[str]]]:
    kind = kind_of(weight_file)
    if kind == recognise.SAFETENSORS:
        return safetensors.read_options(weight_file, options_file)
    if kind == recognise.HDF5:
        options = BiLmOptions.from_file(options_file or options_beside(weight_file))
        return options, hdf5.read_vocabulary(weight_file, options)
    if kind == recognise.TF_CHECKPOINT:
        return tf_checkpoint.read_options(options_file, weight_file)
    if kind == recognise.ZIP:
        with zip_files.unpacked(weight_file) as folder:
            return _read_options(options_file, weight_file_in(folder))
    if kind == recognise.ARCHIVE:
        return archive.read_options(weight_file, options_file)
    _refuse_options(options_file, weight_file)
    options, vocabulary = many_langs.read_options(weight_file)
    return options, vocabulary if options.needs_vocabulary else None


def _refuse_options(options_file: Optional[Path], weight_file: Path) -> None:
    if options_file is not None:
        raise FormatError(
            f"{weight_file}: looks like a model of ELMoForManyLangs, which knows its own options, but {options_file} "
            "is given with it. Leave the options file out, or give the weight file."
        )


def _read_archive(options_file: Optional[Path], weight_file: Path, softmax: bool) -> WeightSet:
    weights = archive.read(weight_file, options_file=options_file)
    if not softmax:
        weights = replace(weights, softmax=None)
    weights.check()
    return weights
