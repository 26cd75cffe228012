"""
Read the folders of ELMoForManyLangs (Che et al. 2018): Unicode characters, and a table of words beside them.

What differs from bilm-tf: characters and words are looked up in `char.dic` and `word.dic`; the vector of the word
stands in front of the output of the CNN and both are projected; the gates are in the engine's order, and the forget
bias has no 1 to be added. In training and in use alike the begin and the end of a word have each other's vector.
"""

from pathlib import Path
from typing import Dict, List, Mapping, Tuple

import torch

from elmo_plugin.engine import characters
from elmo_plugin.engine.errors import FormatError, WeightFileError
from elmo_plugin.engine.lexicon import SPECIAL_WORDS, character_ids, num_character_ids
from elmo_plugin.engine.options import BiLmOptions, LexiconOptions
from elmo_plugin.engine.tensor_table import Shape, check_tensors
from elmo_plugin.formats.many_langs_config import read_config
from elmo_plugin.formats.recognise import MANY_LANGS_FILES
from elmo_plugin.formats.torch_file import float32_copy, load_state
from elmo_plugin.formats.weight_set import WeightSet

_CHARACTER_SPECIALS = ("<bos>", "<eos>", "<eow>", "<bow>", "<pad>", "<oov>")
_CHARACTERS, _WORDS = "char_emb_layer.embedding.weight", "word_emb_layer.embedding.weight"


def read(folder: Path) -> WeightSet:
    """
    Read a model. Its softmax, if it was saved at all, is in another file and is not read.

    # Parameters

    folder : with config.json, char.dic, word.dic, token_embedder.pkl and encoder.pkl.

    # Raises

    `OptionsError` about config.json and the file that it names, `FormatError` for a damaged file, `WeightFileError`
    with one table where the tensors do not fit, or where a word or a character is missing.
    """
    options, word_ids = _options(folder)
    character_places = _read_dictionary(folder / "char.dic")
    state: Dict[str, torch.Tensor] = {}
    for name in MANY_LANGS_FILES:
        state.update(_tensors(folder / name))
    found = {name: tuple(tensor.shape) for name, tensor in state.items()}
    check_tensors(found, _expected(options, len(character_places), len(word_ids)), str(folder))
    tensors = {**_token_layer(options, state, character_places, word_ids), **_lstm(options, state)}
    vocabulary = _vocabulary(word_ids) if options.needs_vocabulary else None
    weights = WeightSet(options, tensors, vocabulary=vocabulary, source=str(folder))
    weights.check()
    return weights


def read_options(folder: Path) -> Tuple[BiLmOptions, List[str]]:
    """Read the options and the words alone; as `read` otherwise. The words are empty where there is no table."""
    options, word_ids = _options(folder)
    return options, _vocabulary(word_ids)


def _options(folder: Path) -> Tuple[BiLmOptions, Dict[str, int]]:
    """The options, and the place of each word in the table; no word where there is no table."""
    config = read_config(folder)
    places = _read_dictionary(folder / "char.dic")
    missing = [name for name in _CHARACTER_SPECIALS if name not in places]
    if missing:
        raise WeightFileError(f"{folder / 'char.dic'}: has no {', '.join(missing)}, expected {_CHARACTER_SPECIALS}.")
    known = [name for name in _by_place(places) if name not in _CHARACTER_SPECIALS]
    lexicon = LexiconOptions(characters=tuple(known), word_dim=config.word_dim)
    word_ids = _read_dictionary(folder / "word.dic") if config.word_dim else {}
    if config.word_dim and SPECIAL_WORDS[-1] not in word_ids:
        raise WeightFileError(f"{folder / 'word.dic'}: has no {SPECIAL_WORDS[-1]}, expected it among the words.")
    words = len(_vocabulary(word_ids)) if config.word_dim else None
    return BiLmOptions(config.lstm, config.char_cnn, n_tokens_vocab=words, lexicon=lexicon), word_ids


def _read_dictionary(path: Path) -> Dict[str, int]:
    """Read lines of a text, a tab and its place, all places from 0 once; the text may be any white space."""
    places: Dict[str, int] = {}
    try:
        # split by hand: other line breaks may be characters of the model
        lines = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        for line in lines:
            if line:
                text, _, place = line.rpartition("\t")
                places[text] = int(place)
    except OSError as error:
        raise WeightFileError(
            f"{path}: cannot be read ({error.strerror}); expected a text and its place a line."
        ) from error
    except ValueError as error:
        raise FormatError(f"{path}: not a list of texts and places in UTF-8 ({error}). Copy the file again.") from error
    if sorted(places.values()) != list(range(len(places))) or not places:
        raise FormatError(
            f"{path}: {len(places)} different texts with places from {min(places.values(), default=0)} to "
            f"{max(places.values(), default=0)}, expected each place from 0 once. Copy the file again."
        )
    return places


def _by_place(places: Mapping[str, int]) -> List[str]:
    return sorted(places, key=places.__getitem__)


def _vocabulary(word_ids: Mapping[str, int]) -> List[str]:
    """The words in the engine's order: the special ones first."""
    return [*SPECIAL_WORDS, *(word for word in _by_place(word_ids) if word not in SPECIAL_WORDS)] if word_ids else []


def _tensors(path: Path) -> Dict[str, torch.Tensor]:
    state = load_state(path, str(path))
    return {name: float32_copy(state, name, str(path)) for name in state}


def _expected(options: BiLmOptions, num_characters: int, num_words: int) -> Dict[str, Shape]:
    cnn, lexicon, lstm = options.char_cnn, options.lexicon, options.lstm
    assert cnn is not None and lexicon is not None, options
    filters, width, cells = cnn.num_filters, lstm.projection_dim, lstm.dim
    shapes: Dict[str, Shape] = {_CHARACTERS: (num_characters, cnn.embedding_dim)}
    if lexicon.word_dim:
        shapes[_WORDS] = (num_words, lexicon.word_dim)
    for index, (span, count) in enumerate(cnn.filters):
        shapes[f"convolutions.{index}.weight"] = (count, cnn.embedding_dim, span)
        shapes[f"convolutions.{index}.bias"] = (count,)
    for index in range(cnn.n_highway):
        shapes[f"highways._layers.{index}.weight"] = (2 * filters, filters)
        shapes[f"highways._layers.{index}.bias"] = (2 * filters,)
    shapes["projection.weight"] = (width, lexicon.word_dim + filters)
    shapes["projection.bias"] = (width,)
    for direction in ("forward", "backward"):
        for layer in range(lstm.n_layers):
            prefix = f"{direction}_layer_{layer}."
            shapes[prefix + "input_linearity.weight"] = (4 * cells, width)
            shapes[prefix + "state_linearity.weight"] = (4 * cells, width)
            shapes[prefix + "state_linearity.bias"] = (4 * cells,)
            shapes[prefix + "state_projection.weight"] = (width, cells)
    return shapes


def _token_layer(
    options: BiLmOptions, state: Mapping[str, torch.Tensor], places: Mapping[str, int], word_ids: Mapping[str, int]
) -> Dict[str, torch.Tensor]:
    cnn, lexicon = options.char_cnn, options.lexicon
    assert cnn is not None and lexicon is not None, options
    root = "token_encoder."
    projection = state["projection.weight"]
    tensors = {
        root + "char_embedding": _character_table(state[_CHARACTERS], places),
        root + "projection.weight": projection[:, lexicon.word_dim :].clone(),
        root + "projection.bias": state["projection.bias"],
    }
    if lexicon.word_dim:
        tensors[root + "word_embedding"] = _word_table(state[_WORDS], word_ids)
        tensors[root + "word_projection.weight"] = projection[:, : lexicon.word_dim].clone()
    for index in range(len(cnn.filters)):
        for part in ("weight", "bias"):
            tensors[f"{root}convolutions.{index}.{part}"] = state[f"convolutions.{index}.{part}"]
    for index in range(cnn.n_highway):
        for part in ("weight", "bias"):
            # the gate lets the input through, where the engine's lets the candidate through
            candidate, gate = state[f"highways._layers.{index}.{part}"].chunk(2)
            tensors[f"{root}highways.{index}.candidate_{part}"] = candidate.clone()
            tensors[f"{root}highways.{index}.gate_{part}"] = -gate
    return tensors


def _character_table(stored: torch.Tensor, places: Mapping[str, int]) -> torch.Tensor:
    known = [places[name] for name in _by_place(places) if name not in _CHARACTER_SPECIALS]
    table = stored.new_zeros((num_character_ids(len(known)), stored.shape[1]))
    table[torch.from_numpy(character_ids(len(known)))] = stored[[places["<oov>"], *known]]
    for symbol, name in (
        (characters.BEGIN_SENTENCE, "<bos>"),
        (characters.END_SENTENCE, "<eos>"),
        (characters.BEGIN_WORD, "<eow>"),
        (characters.END_WORD, "<bow>"),
        (characters.PADDING, "<pad>"),
    ):
        table[symbol + 1] = stored[places[name]]
    return table


def _word_table(stored: torch.Tensor, word_ids: Mapping[str, int]) -> torch.Tensor:
    unknown = word_ids[SPECIAL_WORDS[-1]]
    rows = [word_ids.get(word, unknown) for word in _vocabulary(word_ids)]
    return torch.cat([stored.new_zeros((1, stored.shape[1])), stored[rows]])


def _lstm(options: BiLmOptions, state: Mapping[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    tensors = {}
    for direction in ("forward", "backward"):
        for layer in range(options.lstm.n_layers):
            theirs, ours = f"{direction}_layer_{layer}.", f"lstm.{direction}_layers.{layer}."
            tensors[ours + "input_weight"] = state[theirs + "input_linearity.weight"]
            tensors[ours + "recurrent_weight"] = state[theirs + "state_linearity.weight"]
            tensors[ours + "bias"] = state[theirs + "state_linearity.bias"]
            tensors[ours + "projection_weight"] = state[theirs + "state_projection.weight"]
    return tensors
