"""
Our own format: one safetensors file with the tensors under the engine's names and everything else in its header.

The header's only key is `elmo_plugin`, a JSON text: `format_version`, `options` as in options.json, `vocabulary`. One
key, because the library does not keep the order of several, and equal weights shall give equal files.
"""

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import torch

from elmo_plugin.engine.errors import FormatError, WeightFileError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.tensor_table import check_tensors, expected_shapes, optional_shapes
from elmo_plugin.formats.atomic import replacing
from elmo_plugin.formats.weight_set import WeightSet, check_numbers, inference_options, softmax_shapes

KEY = "elmo_plugin"
FORMAT_VERSION = 1
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}

_FLOATS = ("F16", "BF16", "F32", "F64")


def read(path: Union[str, Path], options_file: Optional[Union[str, Path]] = None, softmax: bool = True) -> WeightSet:
    """
    Read a file of ours.

    # Parameters

    path : the safetensors file.
    options_file : an options.json that must describe the same architecture; the only source of the options for a file
        that has none inside.
    softmax : read the softmax if the file has one.

    # Returns

    Weights in float32, whatever the file stores.

    # Raises

    `FormatError` for a damaged or foreign file, `WeightFileError` if options and tensors do not fit.
    """
    with _open(path) as file:
        header = _header(path, file.metadata() or {})
        options = _options(path, header, options_file)
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
        expected = expected_shapes(options)
        if "softmax.weight" in shapes or "softmax.bias" in shapes:
            expected.update(softmax_shapes(options, shapes.get("softmax.weight")))
        check_tensors(shapes, expected, str(path), optional_shapes(options))
        tensors = {
            name: _tensor(path, name, file)
            for name in list(expected) + sorted(set(shapes) - set(expected))
            if softmax or not name.startswith("softmax.")
        }
    output = {name: tensors.pop(f"softmax.{name}") for name in ("weight", "bias") if f"softmax.{name}" in tensors}
    weights = WeightSet(options, tensors, output or None, header.get("vocabulary"), str(path))
    weights.check()
    return weights


def read_options(
    path: Union[str, Path], options_file: Optional[Union[str, Path]] = None
) -> Tuple[BiLmOptions, Optional[List[str]]]:
    """
    Read the options and the vocabulary alone; as `read` otherwise.

    # Parameters

    path, options_file : as `read` takes them.
    """
    with _open(path) as file:
        header = _header(path, file.metadata() or {})
    return _options(path, header, options_file), header.get("vocabulary")


def dtypes(path: Union[str, Path]) -> List[str]:
    """List the types of the numbers in a file, a stored state apart."""
    with _open(path) as file:
        return sorted({file.get_slice(name).get_dtype() for name in file.keys() if not name.startswith("warm.")})


def write(weights: WeightSet, path: Union[str, Path], dtype: str = "float32") -> None:
    """
    Write a file of ours; equal weights give equal bytes.

    # Parameters

    weights : what to write.
    path : the file; an existing one is replaced only when the new one is complete.
    dtype : one of `DTYPES`. A stored state stays float32; with a 16-bit dtype what belongs to the
        last bits of a float32, `forget_residual`, is left out.

    # Raises

    `WeightFileError` for a weight that the dtype cannot hold, or for a file that cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    weights.check()
    header: Dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "options": inference_options(weights.options).to_dict(),
    }
    if weights.vocabulary is not None:
        header["vocabulary"] = weights.vocabulary
    stored = {}
    for name, tensor in weights.everything().items():
        if dtype == "float32" or not name.endswith("forget_residual"):
            target = torch.float32 if name.startswith("warm.") else DTYPES[dtype]
            # a copy, because the library refuses tensors that share memory
            stored[name] = tensor.detach().to("cpu", target, copy=True).contiguous()
            check_numbers(f"{path} in {dtype}", name, stored[name])
    with replacing(Path(path)) as part:
        try:
            save_file(stored, str(part), metadata={KEY: json.dumps(header)})
        except SafetensorError as error:
            raise WeightFileError(f"{path}: cannot be written ({error}). Is there room on the disk?") from error


@contextmanager
def _open(path: Union[str, Path]) -> Iterator[Any]:
    from safetensors import SafetensorError, safe_open

    try:
        file = safe_open(str(path), framework="pt")
    except (OSError, SafetensorError) as error:
        raise FormatError(
            f"{path}: cannot be read as a safetensors file ({error}); expected the weights of a biLM. "
            "If it was copied or downloaded, compare its size with the original's and fetch it again."
        ) from error
    with file:
        yield file


def _header(path: Union[str, Path], metadata: Dict[str, str]) -> Dict[str, Any]:
    if KEY not in metadata:
        return {}
    try:
        header = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: the text {KEY!r} in its header is not JSON ({error}).") from error
    version = header.get("format_version") if isinstance(header, dict) else None
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise FormatError(
            f"{path}: its format_version is {version!r}, this elmo_plugin reads 1 to {FORMAT_VERSION}. "
            "If the file is newer, update elmo_plugin."
        )
    words = header.get("vocabulary")
    if words is not None and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise FormatError(f"{path}: the vocabulary in its header is not a list of words.")
    return header


def _options(path: Union[str, Path], header: Dict[str, Any], options_file: Optional[Union[str, Path]]) -> BiLmOptions:
    given = BiLmOptions.from_file(options_file) if options_file is not None else None
    if "options" not in header:
        if given is None:
            raise FormatError(
                f"{path}: a safetensors file, but its header has no {KEY!r} with the options of a biLM; it was not "
                "written by elmo_plugin. If its tensors are a biLM's, give an options file with it."
            )
        return given
    inside = BiLmOptions.from_dict(header["options"], source=f"options inside {path}")
    if given is not None and _architecture(given) != _architecture(inside):
        raise WeightFileError(
            f"{options_file} describes another architecture than the options inside {path}: found "
            f"{_architecture(given)}, expected {_architecture(inside)}. Leave the options file out."
        )
    return inside


def _architecture(options: BiLmOptions) -> Dict[str, Any]:
    content = inference_options(options).to_dict()
    return {key: content[key] for key in ("lstm", "char_cnn", "lexicon") if key in content}


def _tensor(path: Union[str, Path], name: str, file: Any) -> torch.Tensor:
    dtype = file.get_slice(name).get_dtype()
    if dtype not in _FLOATS:
        raise WeightFileError(f"{path}: tensor {name!r} holds {dtype}, expected one of {list(_FLOATS)}.")
    # a copy, because the library's tensor is a view of the mapped file, which may change or vanish
    return file.get_tensor(name).to(torch.float32, copy=True)
