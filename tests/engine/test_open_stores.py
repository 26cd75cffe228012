"""A process opens a folder once, and what it has open is safe while it forks."""

import os
import shutil

import pytest

pytest.importorskip("lmdb")

from elmo_plugin.engine import open_stores
from elmo_plugin.engine.open_stores import open_store
from tests.engine.store_entries import ONE, read, write


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def large_disk(monkeypatch):
    monkeypatch.setattr("elmo_plugin.engine.layer_store.RESERVE", 0)


def test_process_opens_a_folder_once(folder, tmp_path):
    first = open_store(folder)
    (tmp_path / "link").symlink_to(folder)

    assert open_store(folder) is open_store(tmp_path / "link") is open_store(folder / ".." / "cache") is first
    assert open_store(tmp_path / "other") is not first


def test_folder_that_was_deleted_and_made_again(folder):
    old = open_store(folder)
    write(old, ONE, [0])
    shutil.rmtree(folder)
    new = open_store(folder)

    assert read(new, ONE, [0]) == [False]
    write(new, ONE, [0])
    assert read(new, ONE, [0]) == [True]


def test_after_a_fork_both_go_on(folder):
    store = open_store(folder)
    write(store, ONE, [0])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert read(store, ONE, [0]) == [True]
            write(store, ONE, [1])
            code = 0 if read(open_store(folder), ONE, [0, 1]) == [True, True] else 2
        finally:
            os._exit(code)
    write(store, ONE, [2])
    assert os.waitpid(child, 0)[1] == 0

    assert read(store, ONE, [0, 1, 2]) == [True] * 3
    write(store, ONE, [3])
    assert read(store, ONE, [0, 1, 2, 3]) == [True] * 4


def test_nothing_is_open_while_a_process_forks(folder):
    store = open_store(folder)
    write(store, ONE, [0])
    open_stores._before_fork()
    try:
        assert all(generation._environment is None for generation in store._generations.values())
    finally:
        open_stores._after_fork()
    assert read(store, ONE, [0]) == [True]
