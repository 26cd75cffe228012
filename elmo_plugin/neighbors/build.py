"""
A text to an index on disk, to be gone on with after any interruption:

    INDEX/tokens       the vectors and the text, as `elmo_plugin.embedding.parts_folder` reads them
    INDEX/words.zip    the distinct words
    INDEX/approximate  cells for approximate search, where they were asked for
    INDEX/index.json   what the index is; written last, so that an index that has it is whole
"""

import json
import logging
from pathlib import Path
from typing import IO, Any, Callable, Dict, NamedTuple, Optional, Union

from elmo_plugin.embedding.durable import write_durably
from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.embedding.parts_folder import PartsFolder
from elmo_plugin.embedding.run import Progress, embed_text
from elmo_plugin.embedding.targets import PartsTarget, check_target
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.engine.state import CARRIED
from elmo_plugin.neighbors import approximate
from elmo_plugin.neighbors.approximate import ApproximateLayer
from elmo_plugin.neighbors.library import load_faiss
from elmo_plugin.neighbors.words import count_words, write_words

logger = logging.getLogger(__name__)

VERSION = 1
DESCRIPTION, TOKENS, WORDS = "index.json", "tokens", "words.zip"


class IndexTarget(NamedTuple):
    """
    The index to build.

    # Parameters

    path : its folder.
    dtype : of the vectors, "float16" or "float32".
    is_approximate : whether to prepare approximate search too.
    resume : go on with the build that was interrupted.
    """

    path: Path
    dtype: str = "float16"
    is_approximate: bool = False
    resume: bool = False

    @property
    def tokens(self) -> PartsTarget:
        """The vectors in it."""
        return PartsTarget(self.path / TOKENS, self.dtype, self.resume)


def check_index_target(source: Union[str, Path, IO], target: IndexTarget, state: str) -> None:
    """
    Refuse, before anything is loaded, what cannot be built.

    # Raises

    `OptionsError`, `FileNotFoundError`, `BackendUnavailableError` where faiss is missing.
    """
    load_faiss()
    if state == CARRIED:
        raise OptionsError(
            "state is 'carried', with which a vector depends on the sentences before it, and the vectors of a query "
            "could not be compared. Use 'reset' or 'warm'."
        )
    if target.path.is_dir() and not target.resume and any(target.path.iterdir()):
        raise OptionsError(
            f"{target.path}: exists. Go on with it (--resume), delete it to begin anew, or name another folder."
        )
    if target.path.exists() and not target.path.is_dir():
        raise OptionsError(f"{target.path}: is a file, expected the folder to write.")
    is_left = any((target.path / name).exists() for name in (WORDS, approximate.FOLDER, DESCRIPTION))
    if is_left and not target.tokens.path.exists():  # they would be taken for those of the vectors to come
        raise OptionsError(f"{target.path}: its folder {TOKENS!r} is gone. Delete the rest, or name another folder.")
    check_target(source, target.tokens)


def build_index(
    source: Union[str, Path, IO],
    target: IndexTarget,
    embedder: SentenceEmbedder,
    weights: str,
    errors: str = "strict",
    on_progress: Optional[Callable[[Progress], None]] = None,
) -> Dict[str, Any]:
    """
    Build an index of the tokens of a text with a sentence a line.

    # Parameters

    source, errors, on_progress : as `embed_text` takes them.
    target : what to build.
    embedder : of all layers.
    weights : the name of the biLM, by which a query finds it.

    # Returns

    What the index says about itself.

    # Raises

    As `check_index_target` and `embed_text`. Whatever it is, what is finished stays, to be gone on with.
    """
    check_index_target(source, target, embedder.bilm.state)
    if embedder.choice.name != "all":
        raise OptionsError(f"layers are {embedder.choice.name!r}; an index holds all.")
    target.path.mkdir(parents=True, exist_ok=True)
    lock = FileLock(target.path / "lock")
    if not lock.acquire(exclusive=True):
        raise OptionsError(f"{target.path}: another process is building it. Wait until it ends.")
    try:
        return _build(source, target, embedder, weights, errors, on_progress)
    finally:
        lock.release()


def _build(
    source: Union[str, Path, IO],
    target: IndexTarget,
    embedder: SentenceEmbedder,
    weights: str,
    errors: str,
    on_progress: Optional[Callable[[Progress], None]],
) -> Dict[str, Any]:
    embed_text(source, target.tokens, embedder, errors, on_progress)
    vectors = PartsFolder(target.path / TOKENS)
    if not vectors.tokens:
        raise FormatError(f"{source}: has no tokens, expected text with a tokenised sentence a line.")
    if not (target.path / WORDS).is_file():
        write_words(count_words(vectors), target.path / WORDS)
    layers = {}
    if target.is_approximate:
        for layer in approximate.contextual_layers(int(vectors.description["num_layers"])):
            logger.info("Layer %d: cells for approximate search", layer)
            layers[layer] = ApproximateLayer(vectors, layer, target.path / approximate.FOLDER).build()
    content = {
        **vectors.description,
        "index_version": VERSION,
        "weights": weights,
        "tokens": vectors.tokens,
        "approximate": approximate.to_json(layers),
    }
    write_durably(target.path / DESCRIPTION, json.dumps(content, indent=1).encode("utf-8"))
    return content
