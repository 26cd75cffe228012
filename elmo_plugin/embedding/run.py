"""A text in, a file of vectors out: in bounded memory, and to be gone on with after any interruption."""

import logging
import math
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterator, NamedTuple, Optional, Union

import numpy as np

from elmo_plugin.embedding.background import BackgroundThread
from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.embedding.journal import Journal, differences
from elmo_plugin.embedding.part_file import PartSummary, WindowVectors, read_state
from elmo_plugin.embedding.store import PartStore
from elmo_plugin.embedding.targets import AnyTarget, check_target
from elmo_plugin.embedding.text import TextLine, TextReader, escaped_token
from elmo_plugin.embedding.window_memory import Room, WindowMemory
from elmo_plugin.embedding.windows import Limits, windows
from elmo_plugin.embedding.writers import Description
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.state import CARRIED

logger = logging.getLogger(__name__)

VERSION = 1

# A window is in memory three times: being embedded, waiting, being written.
_WINDOW_BYTES = 1 << 26
_WINDOW_LINES = 8192
# Sentences are sorted by length among so many batches.
_WINDOW_BATCHES = 4
# What is computed again, at most, when a run is killed.
_PART_BYTES = 1 << 28


class Progress(NamedTuple):
    """
    How far a run is.

    # Parameters

    lines, tokens : that are done.
    computed : the tokens among them that this process embedded.
    fraction : of the text, from 0 to 1; None where its size is not known.
    """

    lines: int
    tokens: int
    computed: int
    fraction: Optional[float]


def embed_text(
    source: Union[str, Path, IO],
    target: AnyTarget,
    embedder: SentenceEmbedder,
    errors: str = "strict",
    on_progress: Optional[Callable[[Progress], None]] = None,
) -> Progress:
    """
    Embed a text with a sentence a line.

    # Parameters

    source : as `TextReader` takes it.
    target : what to write.
    embedder : how to embed; what it carries is forgotten first.
    errors : "strict", or "replace" to read what is not UTF-8 as U+FFFD.
    on_progress : called after each window.

    # Raises

    `OptionsError` for what cannot be done, before the work; `FormatError` for text that cannot be read. Whatever it
    is, the finished parts of the run stay, to be gone on with.
    """
    check_target(source, target)
    run = _Run(target, embedder, errors, on_progress)
    with TextReader(source, errors) as reader:
        if target.resume and target.path.exists() and not run.journal.is_begun:
            return run.check_finished(reader)
        try:
            return run.go(reader)
        finally:
            run.journal.close()


def window_limits(embedder: SentenceEmbedder) -> Limits:
    """Say how much of a text is embedded at once: a bounded amount of vectors, but some batches."""
    token_bytes = 4 * math.prod(embedder.choice.shape(1, embedder.bilm.output_dim))
    tokens = max(_WINDOW_BYTES // token_bytes, _WINDOW_BATCHES * embedder.plan.tokens)
    return Limits(lines=_WINDOW_LINES, tokens=tokens)


class _Run:
    def __init__(
        self,
        target: AnyTarget,
        embedder: SentenceEmbedder,
        errors: str,
        on_progress: Optional[Callable[[Progress], None]],
    ) -> None:
        self._target = target
        self._embedder = embedder
        self._on_progress = on_progress
        self._warned = False
        self._shape = shape = embedder.choice.shape(1, embedder.bilm.output_dim)[1:]
        self._limits = window_limits(embedder)
        self._memory = WindowMemory(shape, target.layers_first, self._limits.tokens)
        self._about: Description = {
            "format_version": VERSION,
            "weights_fingerprint": embedder.fingerprint(),
            "state": embedder.bilm.state,
            "precision": embedder.bilm.precision,
            "layers": embedder.choice.name,
            "num_layers": shape[0] if len(shape) == 2 else 1,
            "dim": shape[-1],
            "errors": errors,
            **({"batch_size": embedder.plan.rows or 0} if embedder.bilm.state == CARRIED else {}),
            **target.about(),
        }
        self.journal = Journal(target.path, self._settings())
        self._progress = Progress(0, 0, 0, None)

    def _settings(self) -> Dict[str, Any]:
        plan = self._embedder.plan
        return {
            **self._about,
            "batch_tokens": plan.tokens,
            "batch_size": plan.rows,
            "layers_first": self._target.layers_first,
            "device": self._embedder.bilm.token_encoder.boundaries.device.type,
        }

    def go(self, reader: TextReader) -> Progress:
        parts = self.journal.open(self._target.resume)
        self._embedder.carried = None
        self._start_behind(parts[-1] if parts else None, reader)
        is_repeatable = self._embedder.bilm.state != CARRIED
        store = self._target.store(self.journal, parts, self._shape, is_repeatable)
        thread = BackgroundThread(waiting=1)
        try:
            for part in parts:
                thread.put(store.copy, part)
            self._report(reader)
            self._embed(reader, store, thread)
            thread.put(store.close, {**self._describe(reader), "tokens": self._progress.tokens})
            thread.finish()
        except BaseException:
            thread.stop()
            store.abandon()
            self._stop(store)
            raise
        thread.stop()
        store.finish()
        return self._progress

    def _stop(self, store: PartStore) -> None:
        if store.parts:
            logger.error(
                "Stopped. What is finished is in %s; the same command with --resume goes on from there.",
                self.journal.folder,
            )
            return
        with suppress(OSError):
            self.journal.discard()
        logger.error("Stopped before anything was finished.")

    def check_finished(self, reader: TextReader) -> Progress:
        """Look whether the output is that of this run already."""
        while reader.skip(1 << 20):
            pass
        found, expected = self._target.description(), self._describe(reader)
        table = differences(found, expected, expected)
        if table:
            raise OptionsError(
                f"{self._target.path}: nothing to go on with, and the file that is there is of another run ({table}). "
                "Delete it to begin anew, without --resume, or name another file."
            )
        self.journal.remove_remains()
        logger.info("%s is finished already.", self._target.path)
        return Progress(reader.lines, int(found["tokens"]), 0, 1.0)

    def _describe(self, reader: TextReader) -> Description:
        return {**self._about, "lines": reader.lines, "text_digest": reader.digest}

    def _start_behind(self, part: Optional[PartSummary], reader: TextReader) -> None:
        """Bring the text and the state to where a part ends."""
        if part is None:
            return
        reader.skip(part.lines)
        if (reader.lines, reader.digest) != (part.lines, part.digest):
            raise FormatError(
                f"{reader.name}: the first {part.lines} lines are not those that {self.journal.folder} was begun with. "
                "Give the same text, or delete the folder to begin anew."
            )
        if part.is_last and reader.skip(1):
            raise FormatError(
                f"{reader.name}: goes on behind line {part.lines}, where the text ended that {self.journal.folder} was "
                "begun with. Give the same text, or delete the folder to begin anew."
            )
        self._embedder.carried = read_state(self.journal.path_of(part))
        self._progress = Progress(part.lines, part.tokens, 0, None)

    def _embed(self, reader: TextReader, store: PartStore, thread: BackgroundThread) -> None:
        size = 0
        self._embedder.begin_part()
        for window in windows(self._checked(reader), self._limits):
            tokens = [line.tokens for line in window]
            lengths = np.array([len(line) for line in tokens], dtype=np.int64)
            room = self._memory.room(int(lengths.sum()))
            vectors = room.vectors
            self._embedder.embed_into(vectors, tokens, first=window[0].number)
            texts = [line.text for line in window]
            thread.put(self._add, store, WindowVectors(window[0].number, texts, lengths, vectors), room)
            done = self._progress
            self._progress = Progress(reader.lines, done.tokens + len(vectors), done.computed + len(vectors), None)
            size += vectors.nbytes + sum(map(len, texts)) + len(texts)
            if size >= _PART_BYTES:
                thread.put(store.commit, self._summary(reader, is_last=False), self._state())
                self._embedder.begin_part()
                size = 0
            self._report(reader)
        if size:
            thread.put(store.commit, self._summary(reader, is_last=True), self._state())

    def _add(self, store: PartStore, window: WindowVectors, room: Room) -> None:
        store.add(window)
        self._memory.give_back(room)

    def _checked(self, reader: TextReader) -> Iterator[TextLine]:
        for line in reader:
            escaped = None if self._warned else escaped_token(line.tokens)
            if escaped is not None:
                self._warned = True
                logger.warning(
                    "%s: line %d: %r looks like a token that was escaped for XML. Published biLMs were trained on text "
                    "without such escapes, and their vectors of it are worse. Undo it in front of the embedding.",
                    reader.name,
                    line.number + 1,
                    escaped,
                )
            yield line

    def _summary(self, reader: TextReader, is_last: bool) -> PartSummary:
        return PartSummary(0, reader.lines, self._progress.tokens, reader.digest, is_last, 0)

    def _state(self) -> Optional[LstmState]:
        kept = self._embedder.carried
        return None if kept is None else LstmState(kept.hidden.clone(), kept.cell.clone())

    def _report(self, reader: TextReader) -> None:
        self._progress = self._progress._replace(fraction=reader.fraction)
        if self._on_progress is not None:
            self._on_progress(self._progress)
