"""What a weight file is, in a few lines."""

from pathlib import Path
from typing import Dict, List, Optional, Tuple

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.fingerprint import fingerprint
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.engine.state import RESET
from elmo_plugin.formats import hdf5, recognise, safetensors
from elmo_plugin.formats.recognise import kind_of
from elmo_plugin.formats.weight_set import WeightSet, inference_options

FORMATS: Dict[str, str] = {
    recognise.HDF5: "hdf5, as of AllenNLP and bilm-tf",
    recognise.SAFETENSORS: "safetensors of elmo_plugin",
    recognise.TF_CHECKPOINT: "TensorFlow checkpoint, as of bilm-tf and TensorFlow Hub",
    recognise.MANY_LANGS: "folder of ELMoForManyLangs",
    recognise.ZIP: "zip file with a model inside",
    recognise.ARCHIVE: "trained model of AllenNLP",
}


def describe(path: Path, weights: WeightSet) -> List[Tuple[str, str]]:
    """
    Describe a biLM.

    # Parameters

    path : the file or folder that it was read from.
    weights : what was read, with its softmax.

    # Returns

    Heading and text of each line.
    """
    kind, options = kind_of(path), weights.options
    size = sum(part.stat().st_size for part in recognise.files_at(path, kind))
    parameters = sum(tensor.numel() for name, tensor in weights.tensors.items() if not _is_extra(name))
    lines = [
        ("source", str(path)),
        ("format", FORMATS[kind]),
        ("size", f"{size:,} bytes"),
        ("token layer", _token_layer(options)),
        ("LSTM", _lstm(options.lstm)),
        ("vectors", f"{options.num_layers} layers of {options.output_dim} numbers"),
        ("parameters", f"{parameters:,} without the softmax"),
        ("vocabulary", "none" if weights.vocabulary is None else f"{len(weights.vocabulary):,} words"),
        ("softmax", "none" if weights.softmax is None else f"over {len(weights.softmax['bias']):,} words"),
        ("warm state", "stored" if "warm.hidden" in weights.tensors else "none"),
    ]
    stored = _stored_as(kind, path)
    if stored is not None:
        lines.append(("numbers", stored))
    bilm = BiLm(inference_options(options), state=RESET)
    bilm.load_tensors(weights.tensors, weights.source)
    return lines + [("fingerprint", fingerprint(bilm, weights.vocabulary).hex())]


def _is_extra(name: str) -> bool:
    return name.endswith("forget_residual") or name.startswith("warm.")


def _token_layer(options: BiLmOptions) -> str:
    if options.char_cnn is None:
        return f"a table of {options.n_tokens_vocab:,} words"
    described = _characters(options.char_cnn, options.lstm.projection_dim)
    if options.lexicon is None:
        return described
    described += f"; {len(options.lexicon.characters):,} Unicode characters"
    if options.needs_vocabulary:
        described += f", beside a table of {options.n_tokens_vocab:,} words of {options.lexicon.word_dim} numbers"
    return described


def _characters(cnn: CharCnnOptions, projection_dim: int) -> str:
    filters = ", ".join(f"{count} of {width}" for width, count in cnn.filters)
    highways = f"{cnn.n_highway} highway layers" if cnn.n_highway != 1 else "1 highway layer"
    projected = "" if cnn.num_filters == projection_dim else f", projected to {projection_dim}"
    return (
        f"words of {cnn.max_characters_per_token} characters of {cnn.embedding_dim} numbers; filters {filters} "
        f"characters, {cnn.activation}; {highways}{projected}"
    )


def _lstm(lstm: LstmOptions) -> str:
    layers = f"{lstm.n_layers} layers" if lstm.n_layers > 1 else "1 layer"
    projected = f" projected to {lstm.projection_dim}" if lstm.has_projection else ""
    skips = "with" if lstm.use_skip_connections else "without"
    clips = ", ".join(
        f"{name} clipped to {bound:g}" if bound is not None else f"{name} not clipped"
        for name, bound in (("cells", lstm.cell_clip), ("projections", lstm.proj_clip))
    )
    return f"{layers} of {lstm.dim} cells{projected} in each direction; {skips} skip connections; {clips}"


def _stored_as(kind: str, path: Path) -> Optional[str]:
    """How the numbers are stored, where the format has a choice."""
    dtypes = {recognise.HDF5: hdf5.dtypes, recognise.SAFETENSORS: safetensors.dtypes}.get(kind)
    return None if dtypes is None else ", ".join(dtypes(path))
