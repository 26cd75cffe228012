"""Which tensors a biLM has, and one message for every tensor that is missing, surplus or of the wrong shape."""

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from elmo_plugin.engine.characters import NUM_CHARACTER_IDS
from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.engine.lexicon import num_character_ids
from elmo_plugin.engine.options import BiLmOptions

Shape = Tuple[int, ...]

# A file of quite another model could fill the screen
MAX_ROWS = 60


def expected_shapes(options: BiLmOptions) -> Dict[str, Shape]:
    """
    List the tensors that a biLM must have, under the engine's names.

    # Parameters

    options : the architecture.

    # Returns

    Name to shape, in the order of the layers.
    """
    shapes = _word_shapes(options) if options.char_cnn is None else _character_shapes(options)
    lstm = options.lstm
    for direction in ("forward", "backward"):
        for layer in range(lstm.n_layers):
            prefix = f"lstm.{direction}_layers.{layer}."
            shapes[prefix + "input_weight"] = (4 * lstm.dim, lstm.projection_dim)
            shapes[prefix + "recurrent_weight"] = (4 * lstm.dim, lstm.projection_dim)
            shapes[prefix + "bias"] = (4 * lstm.dim,)
            if lstm.has_projection:
                shapes[prefix + "projection_weight"] = (lstm.projection_dim, lstm.dim)
    return shapes


def optional_shapes(options: BiLmOptions) -> Dict[str, Shape]:
    """
    List the tensors that a biLM may have beside those of `expected_shapes`.

    `forget_residual` is what rounding took from a forget bias when 1 was added to it, kept so that the bias can be
    written back bit for bit; `warm.*` is the stored start state.
    """
    lstm = options.lstm
    shapes: Dict[str, Shape] = {
        f"lstm.{direction}_layers.{layer}.forget_residual": (lstm.dim,)
        for direction in ("forward", "backward")
        for layer in range(lstm.n_layers)
    }
    shapes["warm.hidden"] = (lstm.n_layers, 2 * lstm.projection_dim)
    shapes["warm.cell"] = (lstm.n_layers, 2 * lstm.dim)
    return shapes


def check_tensors(
    found: Mapping[str, Sequence[int]],
    expected: Mapping[str, Sequence[int]],
    source: str,
    optional: Optional[Mapping[str, Sequence[int]]] = None,
    hint: str = "Check that the options and the weights belong to the same model.",
) -> None:
    """
    Compare the tensors of a file with those that its options ask for.

    # Parameters

    found : name to shape of what is there.
    expected : name to shape of what must be there.
    source : what to call the file in the message.
    optional : name to shape of what may be there.
    hint : the last sentence of the message: what to do.

    # Raises

    `WeightFileError` with one table of everything that is missing, surplus or of another shape.
    """
    known = {**(optional or {}), **expected}
    missing = [(name, "missing", "-", _text(shape)) for name, shape in expected.items() if name not in found]
    surplus = [(name, "surplus", _text(shape), "-") for name, shape in found.items() if name not in known]
    misshaped = [
        (name, "shape", _text(found[name]), _text(shape))
        for name, shape in known.items()
        if name in found and tuple(found[name]) != tuple(shape)
    ]
    rows = missing + surplus + misshaped
    if rows:
        counts = f"{len(missing)} missing, {len(surplus)} surplus, {len(misshaped)} of another shape"
        table = "\n".join(_table([("tensor", "problem", "found", "expected")] + rows[:MAX_ROWS]))
        more = f"\n  ... and {len(rows) - MAX_ROWS} more" if len(rows) > MAX_ROWS else ""
        raise WeightFileError(f"{source}: the tensors do not fit the options: {counts}.\n{table}{more}\n{hint}")


def _word_shapes(options: BiLmOptions) -> Dict[str, Shape]:
    assert options.n_tokens_vocab is not None, options
    return {"token_encoder.word_embedding": (options.n_tokens_vocab + 1, options.lstm.projection_dim)}


def _character_shapes(options: BiLmOptions) -> Dict[str, Shape]:
    cnn = options.char_cnn
    assert cnn is not None, options
    filters, width = cnn.num_filters, options.lstm.projection_dim
    lexicon = options.lexicon
    rows = NUM_CHARACTER_IDS if lexicon is None else num_character_ids(len(lexicon.characters))
    shapes: Dict[str, Shape] = {"token_encoder.char_embedding": (rows, cnn.embedding_dim)}
    for index, (span, count) in enumerate(cnn.filters):
        shapes[f"token_encoder.convolutions.{index}.weight"] = (count, cnn.embedding_dim, span)
        shapes[f"token_encoder.convolutions.{index}.bias"] = (count,)
    for index in range(cnn.n_highway):
        for part in ("candidate", "gate"):
            shapes[f"token_encoder.highways.{index}.{part}_weight"] = (filters, filters)
            shapes[f"token_encoder.highways.{index}.{part}_bias"] = (filters,)
    if filters != width or lexicon is not None:
        shapes["token_encoder.projection.weight"] = (width, filters)
        shapes["token_encoder.projection.bias"] = (width,)
    if lexicon is not None and options.n_tokens_vocab is not None and options.needs_vocabulary:
        shapes["token_encoder.word_embedding"] = (options.n_tokens_vocab + 1, lexicon.word_dim)
        shapes["token_encoder.word_projection.weight"] = (width, lexicon.word_dim)
    return shapes


def _text(shape: Sequence[int]) -> str:
    return "[" + ", ".join(str(size) for size in shape) + "]"


def _table(rows: Sequence[Tuple[str, ...]]) -> List[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
