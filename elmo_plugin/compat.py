"""
Let AllenNLP 2.10.1 work on the Python, PyTorch and libraries of today.

`elmo_plugin` calls `apply()` before it imports any component. Each patch says what it cures and where that occurs; on
versions where it does not, such as AllenNLP's own stack of 2022, it changes nothing. Two cure faults of AllenNLP
itself: one makes results wrong quietly, one makes them depend on the file system.

What happens before any plugin is loaded is out of reach for the `allennlp` program: it imports `allennlp_models` first,
whose import asks for NLTK data and warns about pkg_resources. `elmo-plugin` (or `python -m elmo_plugin`) is the same
program with this module applied first.
"""

import functools
import importlib.util
import inspect
import logging
import re
import sys
import warnings
from typing import Any, Callable, Dict, Iterator, Tuple

import numpy
import torch

logger = logging.getLogger(__name__)

NARRATIVE_QA = "allennlp_models.rc.tools.narrativeqa"


def apply() -> None:
    """Apply every patch that the installed versions need. Calling it again changes nothing."""
    for patch in PATCHES:
        patch()


def quiet_warnings() -> None:
    """Silence the warnings about how AllenNLP itself calls younger libraries: its user can do nothing about them."""
    amp = r"`torch\.cuda\.amp\.(autocast|GradScaler)\(args\.\.\.\)` is deprecated"
    warnings.filterwarnings("ignore", message=amp, category=FutureWarning, module=r"allennlp\.")
    warnings.filterwarnings("ignore", message="pkg_resources is deprecated", module=r"rouge\.")


def skip_nltk_download() -> None:
    """
    Keep the import of `allennlp_models` off the network.

    One of its modules fetches NLTK's `punkt` when imported, whether needed or not; without a network that costs time
    and prints errors. NLTK 3.9 and later do not even read that file (they want `punkt_tab`): nothing is lost with them.
    """
    if importlib.util.find_spec("allennlp_models") is None or NARRATIVE_QA in sys.modules:
        return
    import nltk

    if _version(nltk.__version__) < (3, 9):
        return

    def make(download: Callable) -> Callable:
        def skipping(*args: Any, **kwargs: Any) -> Any:
            if sys._getframe(1).f_globals.get("__name__") == NARRATIVE_QA:
                logger.debug("not fetching NLTK's %s for %s", args, NARRATIVE_QA)
                return False
            return download(*args, **kwargs)

        return skipping

    _replace(nltk, "download", make)


def allow_numpy_scalars() -> None:
    """
    Let training state be read again (`allennlp train --recover`).

    From 2.6 on `torch.load` accepts only listed types, and AllenNLP's training state may hold NumPy scalars (metrics).
    Their constructor and plain dtypes are harmless; `weights_only` stays on. NumPy 2 renamed the constructor: a state
    written with either loads.
    """
    if _version(torch.__version__) < (2, 6):
        return
    scalar: Any = numpy.float64(0).__reduce__()[0]
    names = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
    dtypes = [numpy.dtype(code) for code in "?bBhHiIlLqQefd"]
    torch.serialization.add_safe_globals([(scalar, name) for name in names])
    torch.serialization.add_safe_globals([numpy.dtype, *{type(dtype) for dtype in dtypes}])


def keep_averaging_when_recovered() -> None:
    """
    Let a training with a moving average go on (`allennlp train --recover`).

    AllenNLP puts the tensors of the checkpoint in the place of the model's parameters. From then on the average is one
    of weights that no longer train, and it is never given to the model: epochs are scored, and `best.th` is written,
    without it. Occurs with every version.
    """
    from allennlp.training.moving_average import MovingAverage

    def make(_: Callable) -> Callable:
        def keeping_parameters(self: MovingAverage, state_dict: Dict[str, Any]) -> None:
            for mine, key in ((self._shadows, "shadows"), (self._backups, "backups")):
                for name, tensor in mine.items():
                    tensor.copy_(state_dict[key][name])  # on the device of the model

        return keeping_parameters

    _replace(MovingAverage, "load_state_dict", make)


def drop_verbose_from_reduce_on_plateau() -> None:
    """Build the learning rate scheduler `reduce_on_plateau`: AllenNLP passes `verbose`, which left PyTorch in 2.7."""
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    if "verbose" in inspect.signature(plateau.__init__).parameters:
        return
    from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
        ReduceOnPlateauLearningRateScheduler as Scheduler,
    )

    def make(init: Callable) -> Callable:
        signature = inspect.signature(init)

        def without_verbose(self: Scheduler, *args: Any, **kwargs: Any) -> None:
            arguments = signature.bind(self, *args, **kwargs).arguments
            if arguments.pop("verbose", False):
                logger.warning("reduce_on_plateau: PyTorch %s has no verbose; ignored", torch.__version__)
            del arguments["self"]
            super(Scheduler, self).__init__(plateau(**arguments))

        return without_verbose

    _replace(Scheduler, "__init__", make)


def share_spawn_locks() -> None:
    """
    Let `MultiProcessDataLoader(start_method="spawn")` start its workers.

    It hands them a lock of the default (fork) context, which Python 3.11.5 and later refuse to pickle for a spawned
    process. A lock of the spawn context serves both.
    """
    if sys.version_info < (3, 11, 5):
        return
    from allennlp.data.data_loaders import multiprocess_data_loader

    if not isinstance(multiprocess_data_loader.mp, _SpawnLocks):
        multiprocess_data_loader.mp = _SpawnLocks()


class _SpawnLocks:
    """`torch.multiprocessing`, with locks that any process may be given."""

    RLock = staticmethod(torch.multiprocessing.get_context("spawn").RLock)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.multiprocessing, name)


def drop_add_special_tokens() -> None:
    """
    Build transformer tokenizers: AllenNLP constructs them with `add_special_tokens`, refused since transformers 4.44.

    Nothing depends on it there, since AllenNLP passes it again with each call.
    """
    import transformers

    if _version(transformers.__version__) < (4, 44):
        return
    from allennlp.common import cached_transformers

    def make(get_tokenizer: Callable) -> Callable:
        def without_special_tokens(model_name: str, **kwargs: Any) -> Any:
            kwargs.pop("add_special_tokens", None)
            return get_tokenizer(model_name, **kwargs)

        return without_special_tokens

    _replace(cached_transformers, "get_tokenizer", make)


def explain_missing_spacy_model() -> None:
    """Say what to do where a spaCy model is neither installed nor to be had, in place of a connection error."""
    from allennlp.common import util

    def make(download: Callable) -> Callable:
        def explaining(model: str, *args: Any, **kwargs: Any) -> Any:
            try:
                return download(model, *args, **kwargs)
            except (OSError, SystemExit) as error:
                raise OSError(
                    f"spaCy model {model!r} is not installed and could not be downloaded. Install it where there is a "
                    f"network (python -m spacy download {model}), or configure a tokenizer that needs no model: "
                    '{"type": "just_spaces"} for text that is already tokenized, or spaCy\'s rules alone, '
                    '{"type": "spacy", "language": "blank:en", "pos_tags": false}.'
                ) from error

        return explaining

    _replace(util, "spacy_download", make)


def sort_ontonotes_files() -> None:
    """
    Read a folder of OntoNotes files in the order of their paths (readers `srl`, `ontonotes_ner` and others).

    AllenNLP takes them in the order in which the file system lists them, so that the same seed trains on other batches
    where the data have been copied. Occurs with every version.
    """
    if importlib.util.find_spec("allennlp_models") is None:
        return
    from allennlp_models.common.ontonotes import Ontonotes

    def make(paths: Callable) -> Callable:
        def in_order(file_path: str) -> Iterator[str]:
            return iter(sorted(paths(file_path)))

        return in_order

    _replace(Ontonotes, "dataset_path_iterator", make)


PATCHES: Tuple[Callable[[], None], ...] = (
    quiet_warnings,
    skip_nltk_download,
    allow_numpy_scalars,
    keep_averaging_when_recovered,
    drop_verbose_from_reduce_on_plateau,
    share_spawn_locks,
    drop_add_special_tokens,
    explain_missing_spacy_model,
    sort_ontonotes_files,
)


def _replace(owner: Any, name: str, make: Callable[[Callable], Callable]) -> None:
    """Put `make(original)` in the place of `owner.name`, once; the original stays at `__wrapped__`."""
    original = getattr(owner, name)
    if not getattr(original, "replaced_by_elmo_plugin", False):
        replacement = functools.wraps(original)(make(original))
        replacement.replaced_by_elmo_plugin = True  # type: ignore[attr-defined]
        is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
        setattr(owner, name, staticmethod(replacement) if is_static else replacement)


def _version(text: str) -> Tuple[int, ...]:
    """`(2, 14)` of "2.14.1+cu130"."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
