"""
Run AllenNLP's own ELMo on this engine: `elmo_token_embedder`, `elmo_characters` and `allennlp.modules.elmo.Elmo`.

One line in `.allennlp_plugins` is enough:

    elmo_plugin
    elmo_plugin.drop_in

Configurations, numbers, parameter names and state dicts stay as they are, the random numbers of dropout included; an
archive moves from AllenNLP to the drop-in and back. AllenNLP's classes themselves are changed, not replaced: type
annotations, subclasses and names that other modules imported long ago go on working, and modules that were built before
run on the engine too. What is new: `reset_states()`, and archives that load without the weight files.

`allennlp --include-package elmo_plugin` imports every module of the package, this one too; that does not switch it on.
"""

import functools
import inspect
import logging
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from allennlp.data.token_indexers import TokenIndexer
from allennlp.modules import elmo
from allennlp.modules.token_embedders import ElmoTokenEmbedder

from elmo_plugin.adapters.stock_engine import StockEngine, options_of
from elmo_plugin.adapters.weight_sources import source_name
from elmo_plugin.engine import characters
from elmo_plugin.engine.errors import EngineError
from elmo_plugin.formats import archive, write_weights
from elmo_plugin.formats.record import ALLENNLP_BILM, METADATA, BiLmRecord
from elmo_plugin.token_indexers.elmo import ElmoIndexer

logger = logging.getLogger(__name__)

_ENGINE = "_elmo_plugin_engine"
_SOURCE = "_elmo_plugin_source"
_INDEXER = "elmo_characters"

# What was there before: (owner, attribute) to its value, or to None where the owner only inherited the attribute.
_replaced: Dict[Tuple[Any, str], Optional[Any]] = {}


def install() -> None:
    """Switch the drop-in on. Calling it again changes nothing."""
    if _replaced:
        return
    _replace(elmo._ElmoBiLm, "forward", _forward(elmo._ElmoBiLm.forward))
    _replace(elmo._ElmoBiLm, "_save_to_state_dict", _save_to_state_dict)
    _replace(elmo.Elmo, "__init__", _finding_weights(elmo.Elmo.__init__))
    _replace(ElmoTokenEmbedder, "__init__", _finding_weights(ElmoTokenEmbedder.__init__))
    _replace(elmo.Elmo, "reset_states", _reset_elmo)
    _replace(ElmoTokenEmbedder, "reset_states", _reset_embedder)
    stock_batch_to_ids = elmo.batch_to_ids
    for module in list(sys.modules.values()):
        # Only what is in the module's own dictionary: asking a lazy module for it could import half a library. None
        # stands for a module that must not be imported.
        if getattr(module, "__dict__", {}).get("batch_to_ids") is stock_batch_to_ids:
            _replace(module, "batch_to_ids", batch_to_ids)
    stock_indexer = TokenIndexer.by_name(_INDEXER)
    _replaced[(TokenIndexer, _INDEXER)] = stock_indexer
    TokenIndexer.register(_INDEXER, exist_ok=True)(ElmoIndexer)


def uninstall() -> None:
    """Switch the drop-in off: AllenNLP's ELMo is its own again, also in modules that were built meanwhile."""
    stock_indexer = _replaced.pop((TokenIndexer, _INDEXER), None)
    if stock_indexer is not None:
        TokenIndexer.register(_INDEXER, exist_ok=True)(stock_indexer)
    for (owner, name), value in _replaced.items():
        if value is None:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
    _replaced.clear()


def batch_to_ids(batch: List[List[str]]) -> torch.Tensor:
    """
    Convert a batch of tokenised sentences to character ids; AllenNLP's function of that name, vectorised.

    # Parameters

    batch : lists of words; unlike in AllenNLP all of them may be empty.

    # Returns

    `(batch, words, 50)`, int64, 0 for padding.
    """
    return characters.batch_to_ids(batch)


def _replace(owner: Any, name: str, value: Any) -> None:
    _replaced[(owner, name)] = vars(owner).get(name)
    setattr(owner, name, value)


def _forward(stock_forward: Callable) -> Callable:
    @functools.wraps(stock_forward)
    def forward(self: Any, inputs: torch.Tensor, word_inputs: Optional[torch.Tensor] = None) -> Dict[str, Any]:
        engine = _engine_of(self)
        if engine is None or _needs_cache(self, inputs, word_inputs):
            return stock_forward(self, inputs, word_inputs)
        output = engine.run(self, inputs)
        return {"activations": list(output.layers.unbind(0)), "mask": output.mask}

    return forward


def _engine_of(module: Any) -> Optional[StockEngine]:
    """The engine of a stock module, made at its first use; None for a model that only AllenNLP's code can run."""
    if _ENGINE not in vars(module):
        try:
            engine: Optional[StockEngine] = StockEngine(module)
        except EngineError as error:
            logger.warning("this biLM stays on AllenNLP's own code, because the engine does not take it: %s", error)
            engine = None
        vars(module)[_ENGINE] = engine
    return vars(module)[_ENGINE]


def _needs_cache(module: Any, inputs: torch.Tensor, word_inputs: Optional[torch.Tensor]) -> bool:
    """
    Whether the vectors must come from the table of `vocab_to_cache`.

    A frozen biLM gives the same vectors from the characters, and right ones for words that the table lacks. Where the
    table is trained, or there are no characters, it is needed.
    """
    if word_inputs is None or module._word_embedding is None:
        return False
    return module._requires_grad or inputs.dim() != 3


def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
    torch.nn.Module._save_to_state_dict(self, destination, prefix, keep_vars)
    metadata = getattr(destination, "_metadata", None)
    source = vars(self).get(_SOURCE)
    # In the metadata, because AllenNLP would refuse one more tensor.
    if metadata is not None and source is not None and _engine_of(self) is not None:
        record = BiLmRecord(options_of(self), source, tensors="", layout=ALLENNLP_BILM)
        metadata[prefix[:-1]][METADATA] = record.to_json()


def _finding_weights(stock_init: Callable) -> Callable:
    """Let a constructor take `serialization_dir` and find the weights of an archive there if the files are gone."""
    signature = inspect.signature(stock_init)
    extra = inspect.Parameter(
        "serialization_dir", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Optional[str]
    )

    @functools.wraps(stock_init)
    def __init__(self: Any, *args: Any, serialization_dir: Optional[str] = None, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        names = ("options_file", "weight_file")
        files = [bound.arguments[name] for name in names]
        if None in files:
            stock_init(*bound.args, **bound.kwargs)
            return
        source = source_name(None, *files)
        with _at_hand(files, source, serialization_dir) as found:
            bound.arguments.update(zip(names, found))
            stock_init(*bound.args, **bound.kwargs)
        for module in self.modules():
            if isinstance(module, elmo._ElmoBiLm):
                vars(module)[_SOURCE] = source

    parameters = [*signature.parameters.values(), extra]
    __init__.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return __init__


@contextmanager
def _at_hand(files: List[str], source: str, serialization_dir: Optional[str]) -> Iterator[List[str]]:
    """Yield paths of options and weights: the files themselves, or where they are gone what an archive holds."""
    saved = None
    if serialization_dir is not None and not all(os.path.exists(file) for file in files):
        for name in (archive.ARCHIVE_WEIGHTS, archive.BEST_WEIGHTS):
            saved = saved or archive.read_saved(serialization_dir, name, source)
    if saved is None:
        yield files
        return
    logger.info("%s: not there, taking the biLM from %s", source, serialization_dir)
    with TemporaryDirectory() as folder:
        write_weights(saved, Path(folder) / "weights.hdf5")
        yield [str(Path(folder) / "options.json"), str(Path(folder) / "weights.hdf5")]


def _reset_elmo(self: Any) -> None:
    """Forget the state that earlier calls left behind."""
    lstm = getattr(self._elmo_lstm, "_elmo_lstm", self._elmo_lstm)
    if hasattr(lstm, "reset_states"):
        lstm.reset_states()


def _reset_embedder(self: Any) -> None:
    """Forget the state that earlier calls left behind."""
    _reset_elmo(self._elmo)


def _is_walked_over() -> bool:
    """Whether this import is part of `--include-package elmo_plugin`, which asks for the components only."""
    is_walked_over = False
    frame = sys._getframe()
    while frame is not None:
        names = frame.f_locals
        if frame.f_code.co_name == "import_module_and_submodules":
            is_walked_over |= names.get("package_name") == __name__.rpartition(".")[0]
        elif is_walked_over:
            # A later turn of AllenNLP's loop over the packages may ask for this one, and would not run it again.
            packages = names.get("include_package") or getattr(names.get("args"), "include_package", None)
            if __name__ in (packages or ()):
                return False
        frame = frame.f_back  # type: ignore[assignment]
    return is_walked_over


if not _is_walked_over():
    install()
