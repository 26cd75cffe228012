"""A build that was killed, wherever that was, goes on and gives the bytes of one that was not."""

import os
import random
import signal
import time

import pytest

pytest.importorskip("faiss")
pytest.importorskip("h5py")

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.neighbors.build import IndexTarget, check_index_target
from elmo_plugin.neighbors.index import TokenIndex
from tests.embedding.runs import kill_at, make_embedder, small_parts, write_text
from tests.neighbors.indexes import build, build_in_process, content_of

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
KILLED = -signal.SIGKILL
DURABLE = ["replace", "fsync"]


@needs_fork
@pytest.mark.parametrize("is_approximate", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_killed_at_each_lasting_operation(tmp_path, monkeypatch, is_approximate):
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 60)
    embedder = make_embedder(tmp_path / "biLM")
    settings = {"is_approximate": is_approximate}
    assert build_in_process(text, tmp_path / "whole", embedder, **settings) == 0
    expected = content_of(tmp_path / "whole")

    for operation in range(200):
        folder = tmp_path / f"index{operation}"
        code = build_in_process(text, folder, embedder, before=kill_at(operation, DURABLE), **settings)
        if code == 0:
            break
        assert code == KILLED
        if not (folder / "index.json").exists():
            with pytest.raises(FormatError, match="no finished index"):
                TokenIndex(folder)
        assert build_in_process(text, folder, embedder, resume=True, **settings) == 0
        assert content_of(folder) == expected

    assert 15 < operation < 199


def kill_often(folder, monkeypatch, sentences, kills, **settings):
    source = random.Random(kills)
    text = write_text(folder / "text", sentences)
    embedder = make_embedder(folder / "biLM", kind=SentenceEmbedder, **settings)
    start = time.monotonic()
    assert build_in_process(text, folder / "whole", embedder, is_approximate=True) == 0
    seconds = time.monotonic() - start
    expected = TokenIndex(folder / "whole")
    queries = expected.vectors.gather(1, expected.words.firsts[:5])
    killed = number = 0
    while killed < kills:
        index = folder / f"index{number}"
        code = KILLED
        while code == KILLED:
            after = source.uniform(0, seconds)
            code = build_in_process(text, index, embedder, kill_after=after, is_approximate=True, resume=True)
            killed += code == KILLED
            assert code in (0, KILLED)
        found = TokenIndex(index)
        for is_exact in (True, False):
            one, other = (place.nearest(1, queries, 5, is_exact) for place in (found, expected))
            assert (one.numbers == other.numbers).all() and (one.similarities == other.similarities).all()
        assert content_of(index) == content_of(folder / "whole")
        number += 1


@needs_fork
def test_killed_at_random_moments(tmp_path, monkeypatch):
    small_parts(monkeypatch)
    kill_often(tmp_path, monkeypatch, sentences=200, kills=3)


@needs_fork
@pytest.mark.slow
def test_killed_50_times_over_20000_sentences(tmp_path, monkeypatch):
    small_parts(monkeypatch, part_bytes=1 << 18)
    kill_often(tmp_path, monkeypatch, sentences=20_000, kills=50, batch_tokens=1024)


def test_cells_can_come_later(tmp_path):
    text, embedder = write_text(tmp_path / "text", 60), make_embedder(tmp_path / "biLM")
    assert not build(text, tmp_path / "index", embedder).is_approximate

    assert build(text, tmp_path / "index", embedder, is_approximate=True, resume=True).is_approximate


def test_what_cannot_be_built_is_refused_before_the_work(tmp_path):
    text, embedder = write_text(tmp_path / "text", 10), make_embedder(tmp_path / "biLM")
    build(text, tmp_path / "index", embedder)
    for path, settings, message in (
        ("index", {}, "exists. Go on with it"),
        ("text", {}, "is a file, expected the folder"),
        ("new", {"dtype": "int8"}, "dtype is 'int8'"),
    ):
        with pytest.raises(OptionsError, match=message):
            check_index_target(text, IndexTarget(tmp_path / path, **settings), "reset")
    with pytest.raises(OptionsError, match="state is 'carried'"):
        check_index_target(text, IndexTarget(tmp_path / "new"), "carried")
    with pytest.raises(FileNotFoundError, match="nothing: no such file"):
        check_index_target(tmp_path / "nothing", IndexTarget(tmp_path / "new"), "reset")
    with pytest.raises(OptionsError, match="an index holds all"):
        build(text, tmp_path / "new", make_embedder(tmp_path / "biLM", layers="top"))
    assert not (tmp_path / "new").exists()


def test_another_text_is_not_gone_on_with(tmp_path):
    text, embedder = write_text(tmp_path / "text", 10), make_embedder(tmp_path / "biLM")
    build(text, tmp_path / "index", embedder)
    text.write_text("another\n")

    with pytest.raises(OptionsError, match="the file that is there is of another run .*Delete it to begin anew"):
        build(text, tmp_path / "index", embedder, resume=True)


@pytest.mark.parametrize("left", ["words.zip", "approximate", "index.json"])
def test_a_folder_whose_tokens_are_gone_is_refused(tmp_path, left):
    """What is left, such as the cells of an approximate search, belongs to other vectors than those to come."""
    text, embedder = write_text(tmp_path / "text", 60), make_embedder(tmp_path / "biLM")
    build(text, tmp_path / "index", embedder, is_approximate=True)
    for name in {"tokens", "words.zip", "approximate", "index.json"} - {left}:
        (tmp_path / "index" / name).rename(tmp_path / f"old {name}")

    with pytest.raises(OptionsError, match="its folder 'tokens' is gone"):
        build(write_text(text, 60, seed=1), tmp_path / "index", embedder, is_approximate=True, resume=True)


def test_text_without_tokens(tmp_path):
    (tmp_path / "text").write_text("\n \n")

    with pytest.raises(FormatError, match="has no tokens"):
        build(tmp_path / "text", tmp_path / "index", make_embedder(tmp_path / "biLM"))


def test_numbers_that_float16_does_not_hold(tmp_path, monkeypatch):
    text, embedder = write_text(tmp_path / "text", 10), make_embedder(tmp_path / "biLM")
    embed_into = embedder.embed_into

    def embed_large(vectors, *arguments, **named):
        embed_into(vectors, *arguments, **named)
        vectors *= 1e5

    monkeypatch.setattr(embedder, "embed_into", embed_large)

    with pytest.raises(OptionsError, match="numbers that float16 does not hold"):
        build(text, tmp_path / "index", embedder)
    build(text, tmp_path / "other", embedder, dtype="float32")


@needs_fork
def test_full_disk_leaves_no_half_cells(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    text, embedder = write_text(tmp_path / "text", 200), make_embedder(tmp_path / "biLM")
    build(text, tmp_path / "whole", embedder, is_approximate=True)
    build(text, tmp_path / "index", embedder)
    expected = content_of(tmp_path / "whole")
    # A few bytes less than a file: these were lost without a word when the library closed it.
    for room in (len(expected["approximate/layer1.00000000.faiss"]) - 10, 100):

        def fill_up(room=room):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

        settings = {"is_approximate": True, "resume": True}
        assert build_in_process(text, tmp_path / "index", embedder, before=fill_up, **settings) == 1
        assert not TokenIndex(tmp_path / "index").is_approximate
    assert build_in_process(text, tmp_path / "index", embedder, is_approximate=True, resume=True) == 0

    assert content_of(tmp_path / "index") == expected
