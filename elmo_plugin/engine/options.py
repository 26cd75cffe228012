"""
The architecture of a biLM, in the layout of bilm-tf's `options.json`.

Every key is used or refused: an option that this engine would ignore could change the vectors without notice.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.json_section import JsonSection, boolean, bound, count, one_of, optional, positive, shortened
from elmo_plugin.engine.option_values import (
    ACTIVATIONS,
    CHARACTER_COUNTS,
    MAX_CHARACTERS_PER_TOKEN,
    distinct_texts,
    filter_pairs,
    row_length,
    vocabulary_size,
)

# What bilm-tf writes for training. It does not change the architecture and is kept as it is.
TRAINING_KEYS = (
    "all_clip_norm_val",
    "batch_size",
    "clip_norm_val",
    "dropout",
    "learning_rate",
    "n_epochs",
    "n_negative_samples_batch",
    "n_train_tokens",
    "sample_softmax",
    "unroll_steps",
)

_LSTM_KEYS = ("dim", "projection_dim", "n_layers", "cell_clip", "proj_clip", "use_skip_connections")
_CNN_KEYS = ("activation", "embedding", "filters", "n_highway", "n_characters", "max_characters_per_token")
_TOP_KEYS = (
    "lstm",
    "char_cnn",
    "lexicon",
    "n_tokens_vocab",
    "bidirectional",
    "share_embedding_softmax",
) + TRAINING_KEYS


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
        _check("embedding_dim", self.embedding_dim, positive)
        # Lists become tuples, so that equal options are equal however they were given.
        object.__setattr__(self, "filters", _check("filters", self.filters, filter_pairs))
        _check("n_highway", self.n_highway, count)
        _check("activation", self.activation, one_of(ACTIVATIONS))
        _check("max_characters_per_token", self.max_characters_per_token, row_length)
        _check("n_characters", self.n_characters, one_of(CHARACTER_COUNTS))
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
        object.__setattr__(self, "characters", _check("characters", self.characters, distinct_texts))
        _check("word_dim", self.word_dim, count)


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
        _check("dim", self.dim, positive)
        _check("projection_dim", self.projection_dim, positive)
        _check("n_layers", self.n_layers, positive)
        _check("cell_clip", self.cell_clip, optional(bound))
        _check("proj_clip", self.proj_clip, optional(bound))
        _check("use_skip_connections", self.use_skip_connections, boolean)
        if self.projection_dim > self.dim:
            expected = _NARROWER.format(self.dim)
            raise OptionsError(f"projection_dim is {self.projection_dim}, expected {expected}.")

    @property
    def has_projection(self) -> bool:
        return self.dim != self.projection_dim


@dataclass(frozen=True)
class BiLmOptions:
    """
    The architecture of a biLM.

    # Parameters

    lstm : the LSTM stack.
    char_cnn : the token layer; None for a word-level model.
    n_tokens_vocab : words of the vocabulary; needed by word-level models, else a remark of the training.
    training : the remaining keys of bilm-tf's training options, kept as they are.
    lexicon : what a model with `char_cnn` knows by name; None where its characters are bytes.
    """

    lstm: LstmOptions
    char_cnn: Optional[CharCnnOptions] = None
    n_tokens_vocab: Optional[int] = None
    training: Mapping[str, Any] = field(default_factory=dict)
    lexicon: Optional[LexiconOptions] = None

    def __post_init__(self) -> None:
        if self.lexicon is not None and self.char_cnn is None:
            raise OptionsError(f"char_cnn is None, expected {_CNN_OF_LEXICON}.")
        if self.char_cnn is not None and not self.needs_vocabulary:
            _check("n_tokens_vocab", self.n_tokens_vocab, optional(positive))
        elif self.n_tokens_vocab is None:
            raise OptionsError(f"n_tokens_vocab is None, expected {_WORD_LEVEL}.")
        else:
            _check("n_tokens_vocab", self.n_tokens_vocab, vocabulary_size)

    @property
    def is_word_level(self) -> bool:
        return self.char_cnn is None

    @property
    def needs_vocabulary(self) -> bool:
        """Whether the token layer knows words by name, whatever it does with their characters."""
        return self.is_word_level or (self.lexicon is not None and self.lexicon.word_dim > 0)

    @property
    def num_layers(self) -> int:
        """Layers that the biLM returns: the token layer and one for each LSTM layer."""
        return self.lstm.n_layers + 1

    @property
    def output_dim(self) -> int:
        """Width of a returned layer, both directions side by side."""
        return 2 * self.lstm.projection_dim

    @property
    def max_characters_per_token(self) -> Optional[int]:
        """Length of a row of character ids; None for a word-level model."""
        return None if self.char_cnn is None else self.char_cnn.max_characters_per_token

    @classmethod
    def from_file(cls, path: Union[str, Path]) -> "BiLmOptions":
        """
        Read an `options.json`.

        # Raises

        `OptionsError`, naming the file, the key, what was found and what was expected.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise OptionsError(f"{path}: cannot be read ({error.strerror}); expected an options.json.") from error
        # UnicodeDecodeError and JSONDecodeError are both ValueErrors.
        except (ValueError, RecursionError) as error:
            raise OptionsError(f"{path}: not a JSON text in UTF-8 ({error}); expected an options.json.") from error
        return cls.from_dict(data, source=str(path))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], source: str = "options") -> "BiLmOptions":
        """
        Check and convert the content of an `options.json`.

        # Parameters

        data : the decoded file.
        source : what to call it in messages.

        # Raises

        `OptionsError`, naming the source, the key, what was found and what was expected.
        """
        top = JsonSection(data, source)
        top.refuse_unknown(_TOP_KEYS)
        if top.get("bidirectional", boolean, True) is not True:
            top.fail("bidirectional", "true: a language model of one direction has no ELMo layers")
        if top.get("share_embedding_softmax", boolean, False) is not False:
            top.fail("share_embedding_softmax", "false: tied embedding and softmax weights are not implemented")
        lstm = _lstm_from(top.section("lstm"))
        char_cnn = _char_cnn_from(top.section("char_cnn")) if data.get("char_cnn") is not None else None
        lexicon = _lexicon_from(top.section("lexicon")) if data.get("lexicon") is not None else None
        if lexicon is not None and char_cnn is None:
            top.fail("char_cnn", _CNN_OF_LEXICON)
        has_words = char_cnn is None or (lexicon is not None and lexicon.word_dim > 0)
        n_tokens_vocab = top.get("n_tokens_vocab", optional(vocabulary_size if has_words else positive), None)
        if has_words and n_tokens_vocab is None:
            top.fail("n_tokens_vocab", _WORD_LEVEL)
        training = {key: data[key] for key in TRAINING_KEYS if key in data}
        return cls(lstm, char_cnn, n_tokens_vocab, training, lexicon)

    def to_dict(self) -> Dict[str, Any]:
        """The content of an `options.json` that describes this biLM and that bilm-tf and AllenNLP read."""
        lstm: Dict[str, Any] = {
            "dim": self.lstm.dim,
            "projection_dim": self.lstm.projection_dim,
            "n_layers": self.lstm.n_layers,
            "use_skip_connections": self.lstm.use_skip_connections,
            "cell_clip": self.lstm.cell_clip,
            "proj_clip": self.lstm.proj_clip,
        }
        data: Dict[str, Any] = {"lstm": lstm}
        if self.char_cnn is not None:
            data["char_cnn"] = {
                "embedding": {"dim": self.char_cnn.embedding_dim},
                "filters": [list(pair) for pair in self.char_cnn.filters],
                "n_highway": self.char_cnn.n_highway,
                "activation": self.char_cnn.activation,
                "max_characters_per_token": self.char_cnn.max_characters_per_token,
                "n_characters": self.char_cnn.n_characters,
            }
        if self.lexicon is not None:
            data["lexicon"] = {"characters": list(self.lexicon.characters), "word_dim": self.lexicon.word_dim}
        if self.n_tokens_vocab is not None:
            data["n_tokens_vocab"] = self.n_tokens_vocab
        data.update(self.training)
        return data


def _lstm_from(section: JsonSection) -> LstmOptions:
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


def _char_cnn_from(section: JsonSection) -> CharCnnOptions:
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


def _lexicon_from(section: JsonSection) -> LexiconOptions:
    section.refuse_unknown(("characters", "word_dim"))
    return LexiconOptions(
        characters=section.require("characters", distinct_texts), word_dim=section.get("word_dim", count, 0)
    )


_WORD_LEVEL = "the number of words, because the token layer has a table of them"
_CNN_OF_LEXICON = "the character CNN that reads the characters of the lexicon"
_NARROWER = "at most dim ({}), because a projection narrows the output"
_NOT_WIDER = "widths of at most max_characters_per_token ({})"


def _check(name: str, value: Any, convert: Callable[[Any], Any]) -> Any:
    """Hold an option that was given in code to what holds for those in files, and return it converted."""
    try:
        return convert(value)
    except ValueError as error:
        raise OptionsError(f"{name} is {shortened(value)}, expected {error}.") from error
