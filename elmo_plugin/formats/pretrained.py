"""Names of pretrained biLMs, and where their files are."""

import importlib
import math
import re
from pathlib import Path
from typing import Callable, List, Optional, Tuple

from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError, WeightFileError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats.names import hdf5_shapes

BUILTIN = "builtin"

_FOLDER = Path(__file__).resolve().parent.parent / "pretrained"

# Peters et al. (2018), as published by AllenNLP; the architecture is in the folder's name
_SITE = "https://allennlp.s3.amazonaws.com/models/elmo"
_PUBLISHED = {
    "small": "2x1024_128_2048cnn_1xhighway",
    "medium": "2x2048_256_2048cnn_1xhighway",
    "original": "2x4096_512_2048cnn_2xhighway",
    "original_5.5B": "2x4096_512_2048cnn_2xhighway_5.5B",
}
_ARCHITECTURE = re.compile(r"(\d+)x(\d+)_(\d+)_(\d+)cnn_(\d+)xhighway")
_SCHEMES = ("http://", "https://", "s3://", "gs://", "hf://")


def names() -> List[str]:
    """List the names that `read_weights` knows."""
    return [BUILTIN] + list(_PUBLISHED)


def urls(name: str) -> Tuple[str, str]:
    """
    Say where a published biLM is.

    # Parameters

    name : one of `names()` but "builtin".

    # Returns

    The URLs of its options and of its weights.
    """
    prefix = f"{_SITE}/{_PUBLISHED[name]}/elmo_{_PUBLISHED[name]}"
    return f"{prefix}_options.json", f"{prefix}_weights.hdf5"


def addresses(source: str) -> List[str]:
    """The addresses behind what a user wrote: those of a published biLM, or one that it is; none for anything else."""
    if source in _PUBLISHED:
        return list(urls(source))
    return _pair(source) if is_url(source) else []


def is_url(source: str) -> bool:
    """Say whether this is an address that has to be fetched, not a path."""
    return source.startswith(_SCHEMES)


def builtin() -> Path:
    """
    Find the biLM that comes with this package.

    # Raises

    `WeightFileError` if it was left out.
    """
    files = sorted(_FOLDER.glob("*.safetensors"))
    if len(files) != 1:
        found = ", ".join(path.name for path in files) or "none"
        raise WeightFileError(
            f"{_FOLDER}: expected one .safetensors file, the biLM named {BUILTIN!r}, found {found}. "
            "Install elmo_plugin again from a complete source, or name other weights."
        )
    return files[0]


def fetch(url: str) -> Path:
    """
    Download a file into AllenNLP's cache, or find it there.

    # Raises

    `BackendUnavailableError` where AllenNLP is not installed, `WeightFileError` if the file cannot be had.
    """
    try:
        return Path(_cached_path()(url))
    except (OSError, ValueError) as error:
        raise WeightFileError(
            f"{url}: could not be fetched ({error}). Check the address and the network, or download the file "
            "elsewhere and give its path."
        ) from error


def cached(url: str) -> Optional[Path]:
    """
    Find what AllenNLP's cache has of an address, the latest of it; None where it was never fetched.

    # Raises

    `ImportError` where AllenNLP is not installed.
    """
    folder = importlib.import_module("allennlp.common.file_utils").CACHE_DIRECTORY
    found = importlib.import_module("cached_path").find_latest_cached(url, cache_dir=folder)
    return None if found is None else Path(found)


def locate(source: str) -> Optional[Tuple[Optional[Path], Path]]:
    """
    Turn a name or a URL into files on this machine.

    # Parameters

    source : what the user wrote.

    # Returns

    The options file, None where the weights carry their options or have them beside, and the weight file. None for
    anything else, such as a path.

    # Raises

    `WeightFileError` where a file cannot be had, or is not the one that was published under this name.
    """
    if source == BUILTIN:
        return None, builtin()
    if source in _PUBLISHED:
        options_file, weight_file = (fetch(url) for url in urls(source))
        _check_published(source, options_file, weight_file)
        return options_file, weight_file
    if is_url(source):
        *options, weights = map(fetch, _pair(source))
        return (options[0] if options else None), weights
    return None


def _pair(address: str) -> List[str]:
    """An address, behind that of its options, which lie beside an HDF5 file: in a cache a file stands alone."""
    beside = [address[: -len("weights.hdf5")] + "options.json"] if address.endswith("weights.hdf5") else []
    return [*beside, address]


def _check_published(name: str, options_file: Path, weight_file: Path) -> None:
    """Refuse what is no published biLM of that name: the page of a proxy, another model, half of a file."""
    again = "Delete it from AllenNLP's cache and try again, or download the files elsewhere and give their paths."
    options_url, weight_url = urls(name)
    try:
        options = BiLmOptions.from_file(options_file)
    except OptionsError as error:
        raise WeightFileError(
            f"{options_url}: what was fetched are not the options of a biLM: {error} {again}"
        ) from error
    match = _ARCHITECTURE.match(_PUBLISHED[name])
    assert match is not None and options is not None, name
    expected = tuple(map(int, match.groups()))
    token_layer = (0, 0) if options.char_cnn is None else (options.char_cnn.num_filters, options.char_cnn.n_highway)
    found = (options.lstm.n_layers, options.lstm.dim, options.lstm.projection_dim) + token_layer
    if found != expected:
        raise WeightFileError(
            f"{options_url}: {options_file}, which was fetched from there, describes another biLM than {name!r}: found "
            f"{_words(found)}, expected {_words(expected)}. {again}"
        )
    least = 4 * sum(map(math.prod, hdf5_shapes(options).values()))
    size = weight_file.stat().st_size
    if size < least:
        raise WeightFileError(
            f"{weight_url}: {weight_file}, which was fetched from there, has {size:,} bytes, expected {least:,} or "
            f"more for {name!r}; it is cut off or something else. {again}"
        )


def _words(architecture: Tuple[int, ...]) -> str:
    return "{} layers of {} cells, projection {}, {} filters, {} highway layers".format(*architecture)


def _cached_path() -> Callable[[str], str]:
    # by name, because nothing in this package but the adapters depends on AllenNLP
    try:
        return importlib.import_module("allennlp.common.file_utils").cached_path
    except ImportError as error:
        raise BackendUnavailableError(
            "fetching weights by name or URL needs AllenNLP's cache: install allennlp, or download the files and "
            "give their paths."
        ) from error
