"""The architecture of an ELMoForManyLangs model: config.json, and the file that it names."""

import json
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Dict, NamedTuple, Optional

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.json_section import JsonSection, bound, count, one_of, positive
from elmo_plugin.engine.option_values import ACTIVATIONS, MAX_CHARACTERS_PER_TOKEN, filter_pairs, row_length
from elmo_plugin.engine.options import CharCnnOptions, LstmOptions

# The architecture of all models that its authors published. Their archives name its file and do not contain it.
_PUBLISHED = "cnn_50_100_512_4096_sample.json"
_ARCHITECTURES: Dict[str, Any] = {
    _PUBLISHED: {
        "encoder": {"name": "elmo", "dim": 4096, "projection_dim": 512, "n_layers": 2, "cell_clip": 3, "proj_clip": 3},
        "token_embedder": {
            "name": "cnn",
            "activation": "relu",
            "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
            "n_highway": 2,
            "word_dim": 100,
            "char_dim": 50,
            "max_characters_per_token": MAX_CHARACTERS_PER_TOKEN,
        },
    }
}


class ManyLangsConfig(NamedTuple):
    """
    What the two files say.

    # Parameters

    lstm, char_cnn : the sizes, as in options.json.
    word_dim : width of the vectors of words; 0 where there is no table of words.
    """

    lstm: LstmOptions
    char_cnn: CharCnnOptions
    word_dim: int


def read_config(folder: Path) -> ManyLangsConfig:
    """
    Read the architecture. The path in config.json is that of its author's disk: only the name counts, and the file is
    looked for in the folder and in its `configs`.

    # Raises

    `OptionsError` where a file is missing, or asks for what is not implemented.
    """
    config_file = folder / "config.json"
    content = _read_json(config_file)
    if isinstance(content, dict) and "encoder" in content:
        return _config(content, str(config_file))
    named = JsonSection(content, str(config_file)).require("config_path", _text)
    name = PureWindowsPath(PurePosixPath(named).name).name
    for candidate in (folder / name, folder / "configs" / name):
        if candidate.is_file():
            return _config(_read_json(candidate), str(candidate))
    if name not in _ARCHITECTURES:
        raise OptionsError(
            f"{config_file}: key 'config_path' names {named!r}, and there is no {name!r} in {folder} or its folder "
            "'configs'. Copy that file, which describes the architecture, beside config.json."
        )
    return _config(_ARCHITECTURES[name], f"{config_file} ({name})")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise OptionsError(f"{path}: cannot be read ({error.strerror}); it describes the model.") from error
    except (ValueError, RecursionError) as error:
        raise OptionsError(f"{path}: not a JSON text in UTF-8 ({error}).") from error


def _config(content: Any, source: str) -> ManyLangsConfig:
    top = JsonSection(content, source)
    encoder, embedder = top.section("encoder"), top.section("token_embedder")
    encoder.require("name", _name("elmo"))
    embedder.require("name", _name("cnn"))
    lstm = LstmOptions(
        dim=encoder.require("dim", positive),
        projection_dim=encoder.require("projection_dim", positive),
        n_layers=encoder.require("n_layers", positive),
        cell_clip=encoder.require("cell_clip", _clip),
        proj_clip=encoder.require("proj_clip", _clip),
        use_skip_connections=True,  # always there
    )
    char_cnn = CharCnnOptions(
        embedding_dim=embedder.require("char_dim", positive),
        filters=embedder.require("filters", filter_pairs),
        n_highway=embedder.require("n_highway", count),
        activation=embedder.require("activation", one_of(ACTIVATIONS)),
        max_characters_per_token=embedder.require("max_characters_per_token", row_length),
    )
    return ManyLangsConfig(lstm, char_cnn, embedder.require("word_dim", count))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("the name of the file with the architecture")
    return value


def _name(wanted: str) -> Any:
    def convert(value: Any) -> str:
        if not isinstance(value, str) or value.lower() != wanted:
            raise ValueError(f"{wanted!r}; no other kind is implemented")
        return value

    return convert


def _clip(value: Any) -> Optional[float]:
    return None if value is None or value == 0 and not isinstance(value, bool) else bound(value)
