"""A run that was killed, wherever that was, goes on and gives the bytes of one that was not."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.embedding.journal import folder_of
from elmo_plugin.embedding.writers import Keys, names
from tests.embedding.runs import embed_in_process, kill_at, make_embedder, small_parts, write_text

pytest.importorskip("h5py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

KILLED = -signal.SIGKILL
#: what makes anything lasting: all that is between two of these is as if it had not been
DURABLE = ["replace", "fsync", "unlink"]


def test_killed_at_each_lasting_operation(tmp_path: Path, monkeypatch: Any) -> None:
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 60)
    embedder = make_embedder(tmp_path / "biLM", "carried")
    assert embed_in_process(text, tmp_path / "whole", embedder) == 0
    expected = (tmp_path / "whole").read_bytes()

    for operation in range(100):
        output = tmp_path / f"output{operation}"
        code = embed_in_process(text, output, embedder, before=kill_at(operation, DURABLE))
        if code == 0:
            break
        assert code == KILLED
        assert not output.exists() or output.read_bytes() == expected
        assert embed_in_process(text, output, embedder, resume=True) == 0
        assert output.read_bytes() == expected
        assert not folder_of(output).exists()

    assert 15 < operation < 99


def test_killed_at_random_moments(tmp_path: Path, monkeypatch: Any) -> None:
    small_parts(monkeypatch)

    assert kill_often(tmp_path, sentences=200, kills=5) >= 5


@pytest.mark.slow
@pytest.mark.timeout(7200)  # minutes on a machine of its own, and as much longer as it is busy
def test_killed_50_times_over_20000_sentences(tmp_path: Path, monkeypatch: Any) -> None:
    small_parts(monkeypatch, part_bytes=1 << 18)
    monkeypatch.setattr("elmo_plugin.embedding.run._WINDOW_LINES", 512)

    assert kill_often(tmp_path, sentences=20_000, kills=50, batch_tokens=1024) >= 50


def kill_often(folder: Path, sentences: int, kills: int, **settings: Any) -> int:
    """Write files whose runs are killed again and again, until there were so many kills; compare each with a whole."""
    source = random.Random(kills)
    text = write_text(folder / "text", sentences)
    embedder = make_embedder(folder / "biLM", kind=SentenceEmbedder, **settings)
    start = time.monotonic()
    assert embed_in_process(text, folder / "whole", embedder) == 0
    seconds = time.monotonic() - start
    expected = (folder / "whole").read_bytes()
    killed = 0
    while killed < kills:
        output = folder / "output"
        code = KILLED
        while code == KILLED:
            resume = folder_of(output).exists() or output.exists()
            code = embed_in_process(text, output, embedder, resume=resume, kill_after=source.uniform(0, seconds))
            killed += code == KILLED
            assert code in (0, KILLED)
            assert not output.exists() or output.read_bytes() == expected
        assert output.read_bytes() == expected
        output.unlink()
    return killed


@pytest.mark.parametrize("layers", ["top", "all"])
@pytest.mark.parametrize("format", names())
def test_all_formats_go_on(format: str, layers: str, tmp_path: Path, monkeypatch: Any) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 100)
    embedder = make_embedder(tmp_path / "biLM", layers=layers)
    assert embed_in_process(text, tmp_path / "whole", embedder, format) == 0

    assert embed_in_process(text, tmp_path / "output", embedder, format, before=kill_at(8, DURABLE)) == KILLED
    assert embed_in_process(text, tmp_path / "output", embedder, format, resume=True) == 0

    assert (tmp_path / "output").read_bytes() == (tmp_path / "whole").read_bytes()


def test_full_disk(tmp_path: Path, monkeypatch: Any) -> None:
    resource = pytest.importorskip("resource")
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 200)
    embedder = make_embedder(tmp_path / "biLM")
    assert embed_in_process(text, tmp_path / "whole", embedder) == 0
    expected = (tmp_path / "whole").read_bytes()

    def fill_up() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(expected) // 2, resource.RLIM_INFINITY))

    assert embed_in_process(text, tmp_path / "output", embedder, before=fill_up) == 1
    assert not (tmp_path / "output").exists()
    assert embed_in_process(text, tmp_path / "output", embedder, resume=True) == 0

    assert (tmp_path / "output").read_bytes() == expected


def test_sentence_keys_go_on(tmp_path: Path, monkeypatch: Any) -> None:
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 100)
    embedder = make_embedder(tmp_path / "biLM")
    keys = Keys(by_sentence=True)
    assert embed_in_process(text, tmp_path / "whole", embedder, keys=keys) == 0

    assert embed_in_process(text, tmp_path / "output", embedder, keys=keys, before=kill_at(9, DURABLE)) == KILLED
    assert embed_in_process(text, tmp_path / "output", embedder, keys=keys, resume=True) == 0

    assert (tmp_path / "output").read_bytes() == (tmp_path / "whole").read_bytes()
