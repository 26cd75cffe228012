"""
The biLM of ELMo (Peters et al. 2018): exact, fast, and with no more than PyTorch and NumPy.

    options = BiLmOptions.from_file("options.json")
    bilm = BiLm(options, state="reset")
    output = bilm(batch_to_ids([["The", "cat", "sat", "."]]))
    output.layers  # (num_layers, 1, 6, output_dim)
"""

from elmo_plugin.engine.bilm import BiLm, BiLmOutput
from elmo_plugin.engine.characters import batch_to_ids
from elmo_plugin.engine.elmo import Elmo, ElmoOutput
from elmo_plugin.engine.errors import (
    BackendUnavailableError,
    EngineError,
    FormatError,
    OptionsError,
    ShapeError,
    WeightFileError,
)
from elmo_plugin.engine.layer_cache import LayerCache
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.engine.scalar_mix import ScalarMix

__all__ = [
    "BackendUnavailableError",
    "BiLm",
    "BiLmOptions",
    "BiLmOutput",
    "CharCnnOptions",
    "Elmo",
    "ElmoOutput",
    "EngineError",
    "FormatError",
    "LayerCache",
    "LstmOptions",
    "OptionsError",
    "ScalarMix",
    "ShapeError",
    "WeightFileError",
    "batch_to_ids",
]
