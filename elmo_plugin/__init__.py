"""
ELMo for AllenNLP.

Importing this package registers its components and commands where AllenNLP is installed. Where it is not,
`elmo_plugin.engine` and `elmo_plugin.formats` work all the same.
"""

import importlib
import importlib.util
import pkgutil
from typing import Iterator

__version__ = "0.1.0"

# The folders whose modules register a component each; a name that starts with an underscore registers nothing.
COMPONENT_FOLDERS = (
    "token_indexers",
    "token_embedders",
    "seq2seq_encoders",
    "vocabularies",
    "dataset_readers",
    "data_loaders",
    "models",
    "predictors",
    "callbacks",
    "checkpointers",
    "commands",
)
# Models and readers of the paper's tasks, which are those of allennlp-models with additions.
NEED_ALLENNLP_MODELS = (
    "dataset_readers.coref_sentences",
    "models.bidaf_self_attention",
    "models.elmo_bcn",
    "models.elmo_esim",
    "models.sentence_coref",
)


def component_modules() -> Iterator[str]:
    """The dotted name of each module that registers a component here."""
    left_out = () if importlib.util.find_spec("allennlp_models") is not None else NEED_ALLENNLP_MODELS
    for folder in COMPONENT_FOLDERS:
        for module in pkgutil.iter_modules([f"{path}/{folder}" for path in __path__]):
            if not module.name.startswith("_") and f"{folder}.{module.name}" not in left_out:
                yield f"{__name__}.{folder}.{module.name}"


def _register_components() -> None:
    from elmo_plugin import compat

    compat.apply()
    for name in component_modules():
        importlib.import_module(name)


if importlib.util.find_spec("allennlp") is not None:
    _register_components()
