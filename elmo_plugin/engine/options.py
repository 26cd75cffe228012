"""
The architecture of a biLM, in the layout of bilm-tf's `options.json`.

Every key is used or refused: an option that this engine would ignore could change the vectors without notice.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Union

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.json_section import JsonSection, boolean, optional, positive
from elmo_plugin.engine.option_sections import (
    CharCnnOptions,
    LexiconOptions,
    LstmOptions,
    char_cnn_from,
    check_option,
    lexicon_from,
    lstm_from,
)
from elmo_plugin.engine.option_values import vocabulary_size

__all__ = ["BiLmOptions", "CharCnnOptions", "LexiconOptions", "LstmOptions"]

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

_WORD_LEVEL = "the number of words, because the token layer has a table of them"
_CNN_OF_LEXICON = "the character CNN that reads the characters of the lexicon"

_TOP_KEYS = (
    "lstm",
    "char_cnn",
    "lexicon",
    "n_tokens_vocab",
    "bidirectional",
    "share_embedding_softmax",
) + TRAINING_KEYS


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
            check_option("n_tokens_vocab", self.n_tokens_vocab, optional(positive))
        elif self.n_tokens_vocab is None:
            raise OptionsError(f"n_tokens_vocab is None, expected {_WORD_LEVEL}.")
        else:
            check_option("n_tokens_vocab", self.n_tokens_vocab, vocabulary_size)

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
        lstm = lstm_from(top.section("lstm"))
        char_cnn = char_cnn_from(top.section("char_cnn")) if data.get("char_cnn") is not None else None
        lexicon = lexicon_from(top.section("lexicon")) if data.get("lexicon") is not None else None
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
