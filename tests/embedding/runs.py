"""Whole runs on a tiny biLM, in processes that can be killed."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence, Type

import numpy as np
import torch

from elmo_plugin.embedding import run
from elmo_plugin.embedding.embedder import SentenceEmbedder, build_bilm
from elmo_plugin.embedding.run import embed_text
from elmo_plugin.embedding.targets import Target
from elmo_plugin.embedding.writers import Keys
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.formats import read_pair
from tests import tiny
from tests.processes import run_in_process

BY_NUMBER = Keys()

WORDS = ["a", "the", "Naïve", "日本語", "and/or", ".", "x" * 70, "<S>", "it", "&apos;s", "\0", "🙂"]


def write_text(path: Path, sentences: int, seed: int = 0) -> Path:
    """Write random sentences, some of them blank."""
    source = random.Random(seed)
    lines = [" ".join(source.choices(WORDS, k=source.choice([0, 1, 3, 6]))) for _ in range(sentences)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class QuickEmbedder(SentenceEmbedder):
    """Vectors made of the letters and, where state is carried, of the number of tokens so far; no biLM runs."""

    def embed_into(self, vectors: np.ndarray, sentences: Sequence[Sequence[str]], first: int = 0) -> None:
        if self.carried is None:
            self.carried = LstmState(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2))
        tokens = [token for sentence in sentences for token in sentence]
        each = np.arange(np.prod(vectors.shape[1:]), dtype=np.float32).reshape(vectors.shape[1:])
        for place, token in enumerate(tokens):
            self.carried.cell.add_(float(self.bilm.state == "carried"))
            vectors[place] = each + len(token) + ord(token[0]) / 7 + float(self.carried.cell[0, 0, 0])


def make_embedder(
    folder: Path, state: str = "reset", kind: Type[SentenceEmbedder] = QuickEmbedder, **settings: Any
) -> SentenceEmbedder:
    """Embed with a tiny biLM, whose files are made in `folder`; or with none of it, quickly."""
    weights = read_pair(*tiny.write(folder))
    settings.setdefault("batch_tokens", 64)
    return kind(build_bilm(weights, state=state), weights.vocabulary, **settings)


def small_parts(monkeypatch: Any, part_bytes: int = 1 << 13) -> None:
    """Let a short text be a run of many windows and parts."""
    monkeypatch.setattr(run, "_WINDOW_BYTES", 1)
    monkeypatch.setattr(run, "_WINDOW_LINES", 16)
    monkeypatch.setattr(run, "_PART_BYTES", part_bytes)


def embed_in_process(
    text: Path,
    output: Path,
    embedder: SentenceEmbedder,
    format: str = "hdf5",
    resume: bool = False,
    keys: Keys = BY_NUMBER,
    before: Optional[Callable[[], None]] = None,
    kill_after: Optional[float] = None,
) -> Optional[int]:
    """Run in a process of its own; the rest is as for `run_in_process`."""
    return run_in_process(lambda: embed_text(text, Target(output, format, keys, resume), embedder), before, kill_after)


def kill_at(operation: int, names: List[str]) -> Callable[[], None]:
    """Make a process kill itself in front of the n-th call, from 0, of functions of `os`."""

    def install() -> None:
        left = [operation]

        def dying(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                    time.sleep(60)
                left[0] -= 1
                return function(*arguments, **named)

            return call

        for name in names:
            setattr(os, name, dying(getattr(os, name)))

    return install
