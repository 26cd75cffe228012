"""The sections of a biLM's options: the character CNN, what it knows by name, the LSTMs."""

from dataclasses import dataclass
from typing import Any, Callable, Optional, Tuple

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.json_section import JsonSection, boolean, bound, count, one_of, optional, positive, shortened
from elmo_plugin.engine.option_values import (
    ACTIVATIONS,
    CHARACTER_COUNTS,
    MAX_CHARACTERS_PER_TOKEN,
    distinct_texts,
    filter_pairs,
    row_length,
)

_LSTM_KEYS = ("dim", "projection_dim", "n_layers", "cell_clip", "proj_clip", "use_skip_connections")
_CNN_KEYS = ("activation", "embedding", "filters", "n_highway", "n_characters", "max_characters_per_token")
_NARROWER = "at most dim ({}), because a projection narrows the output"
_NOT_WIDER = "widths of at most max_characters_per_token ({})"


@dataclass(frozen=True)
class CharCnnOptions:
    """
    The character CNN of the token layer (Kim et al. 2015, as used by Jozefowicz et al. 2016).

    # Parameters

    embedding_dim : width of a character vector.
    filters : `(width in characters, number of filters)` of each convolution.
    n_highway : highway layers behind the convolutions; 0 for none.
    activation : "relu" or "tanh", applied to the maximum over positions.
    max_characters_per_token : length of a row of character ids, the two word boundaries included.
    n_characters : 261 or 262; kept as it was read, both name the same table.
    """

    embedding_dim: int
    filters: Tuple[Tuple[int, int], ...]
    n_highway: int = 0
    activation: str = "relu"
    max_characters_per_token: int = MAX_CHARACTERS_PER_TOKEN
    n_characters: int = 262

    def __post_init__(self) -> None:
        check_option("embedding_dim", self.embedding_dim, positive)
        # Lists become tuples, so that equal options are equal however they were given.
        object.__setattr__(self, "filters", check_option("filters", self.filters, filter_pairs))
        check_option("n_highway", self.n_highway, count)
        check_option("activation", self.activation, one_of(ACTIVATIONS))
        check_option("max_characters_per_token", self.max_characters_per_token, row_length)
        check_option("n_characters", self.n_characters, one_of(CHARACTER_COUNTS))
        if max(width for width, _ in self.filters) > self.max_characters_per_token:
            expected = _NOT_WIDER.format(self.max_characters_per_token)
            raise OptionsError(f"filters are {self.filters}, expected {expected}.")

    @property
    def num_filters(self) -> int:
        """Sum of the filters of all widths: the F of the weight layouts."""
        return sum(count for _, count in self.filters)


@dataclass(frozen=True)
class LexiconOptions:
    """
    Characters and words that a biLM knows by name, where others know the 256 bytes (ELMoForManyLangs).

    # Parameters

    characters : the characters of the CNN, in the order of their vectors; all others are one unknown character.
    word_dim : width of the vectors of words that are used beside the CNN; 0 for none.
    """

    characters: Tuple[str, ...]
    word_dim: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "characters", check_option("characters", self.characters, distinct_texts))
        check_option("word_dim", self.word_dim, count)


@dataclass(frozen=True)
class LstmOptions:
    """
    The stack of projected LSTMs (Sak et al. 2014), the same for both directions.

    # Parameters

    dim : cells of each layer and direction.
    projection_dim : width of a direction's output. Equal to `dim` means that there is no projection.
    n_layers : layers of each direction.
    cell_clip, proj_clip : bound on the absolute value of the cell state and of the projection; None for no bound.
        As in TensorFlow's cell, `proj_clip` has no effect where there is no projection.
    use_skip_connections : add the input of every layer but the first to its output.
    """

    dim: int
    projection_dim: int
    n_layers: int = 2
    cell_clip: Optional[float] = None
    proj_clip: Optional[float] = None
    use_skip_connections: bool = False

    def __post_init__(self) -> None:
        check_option("dim", self.dim, positive)
        check_option("projection_dim", self.projection_dim, positive)
        check_option("n_layers", self.n_layers, positive)
        check_option("cell_clip", self.cell_clip, optional(bound))
        check_option("proj_clip", self.proj_clip, optional(bound))
        check_option("use_skip_connections", self.use_skip_connections, boolean)
        if self.projection_dim > self.dim:
            expected = _NARROWER.format(self.dim)
            raise OptionsError(f"projection_dim is {self.projection_dim}, expected {expected}.")

    @property
    def has_projection(self) -> bool:
        return self.dim != self.projection_dim


def lstm_from(section: JsonSection) -> LstmOptions:
    """Read the section of the LSTMs; raises `OptionsError` as `BiLmOptions.from_dict`."""
    section.refuse_unknown(_LSTM_KEYS)
    options = {
        "dim": section.require("dim", positive),
        "projection_dim": section.require("projection_dim", positive),
        "n_layers": section.get("n_layers", positive, 1),
        "cell_clip": section.get("cell_clip", optional(bound), None),
        "proj_clip": section.get("proj_clip", optional(bound), None),
        "use_skip_connections": section.get("use_skip_connections", boolean, False),
    }
    if options["projection_dim"] > options["dim"]:
        section.fail("projection_dim", _NARROWER.format(options["dim"]))
    return LstmOptions(**options)


def char_cnn_from(section: JsonSection) -> CharCnnOptions:
    """Read the section of the character CNN; raises `OptionsError` as `BiLmOptions.from_dict`."""
    section.refuse_unknown(_CNN_KEYS)
    embedding = section.section("embedding")
    embedding.refuse_unknown(("dim",))
    options = {
        "embedding_dim": embedding.require("dim", positive),
        "filters": section.require("filters", filter_pairs),
        "n_highway": section.get("n_highway", optional(count), 0) or 0,
        "activation": section.get("activation", one_of(ACTIVATIONS), "relu"),
        "max_characters_per_token": section.get("max_characters_per_token", row_length, MAX_CHARACTERS_PER_TOKEN),
        "n_characters": section.get("n_characters", one_of(CHARACTER_COUNTS), 262),
    }
    if max(width for width, _ in options["filters"]) > options["max_characters_per_token"]:
        section.fail("filters", _NOT_WIDER.format(options["max_characters_per_token"]))
    return CharCnnOptions(**options)


def lexicon_from(section: JsonSection) -> LexiconOptions:
    """Read the section of what is known by name; raises `OptionsError` as `BiLmOptions.from_dict`."""
    section.refuse_unknown(("characters", "word_dim"))
    return LexiconOptions(
        characters=section.require("characters", distinct_texts), word_dim=section.get("word_dim", count, 0)
    )


def check_option(name: str, value: Any, convert: Callable[[Any], Any]) -> Any:
    """Hold an option that was given in code to what holds for those in files, and return it converted."""
    try:
        return convert(value)
    except ValueError as error:
        raise OptionsError(f"{name} is {shortened(value)}, expected {error}.") from error
