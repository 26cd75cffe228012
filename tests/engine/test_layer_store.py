"""The folder of a layer cache: what it gives back, limits, other processes, damage, and what it refuses."""

import json
import logging
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("lmdb")

from elmo_plugin.engine import layer_store
from elmo_plugin.engine.errors import EngineError, FormatError
from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.engine.generation import DATA, SMALLEST, USED, Generation, GenerationFull
from elmo_plugin.engine.layer_store import LOCK, MARKER, LayerStore, StoreFailed, StoreFull
from tests.engine.store_entries import ONE, TWO, entry, read, write

fork = multiprocessing.get_context("fork")

MEGABYTE = 1 << 20


def generations(folder):
    return sorted(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def large_disk(monkeypatch):
    monkeypatch.setattr(layer_store, "RESERVE", 0)


def test_what_was_written_is_read(folder):
    store = LayerStore(folder)

    assert read(store, ONE, range(4)) == [False] * 4
    write(store, ONE, [0, 2])
    assert read(store, ONE, range(4)) == [True, False, True, False]
    write(store, ONE, [1, 2])
    assert read(store, ONE, [3, 2, 1, 0, 0]) == [False, True, True, True, True]


def test_fingerprints_are_apart(folder):
    store = LayerStore(folder)
    write(store, ONE, [0])
    write(store, TWO, [1])

    assert read(store, ONE, [0, 1]) == [True, False]
    assert read(store, TWO, [0, 1]) == [False, True]


def test_it_lasts(folder):
    write(LayerStore(folder), ONE, range(5))

    assert all(read(LayerStore(folder), ONE, range(5)))


def test_folder_that_vanishes_while_it_is_open(folder):
    store = LayerStore(folder)
    write(store, ONE, [0])
    shutil.rmtree(folder)

    assert read(store, ONE, [0]) == [False]
    with pytest.raises(StoreFailed, match="No such file"):
        write(store, ONE, [1])


# Size limit


def test_generations_share_the_limit(folder):
    """Eight of a megabyte each: no file is larger, and all of them together are not either."""
    store = LayerStore(folder)
    limit = 8 * MEGABYTE
    for number in range(14):
        write(store, ONE, [number], 400_000, limit)

    sizes = [(path / DATA).stat().st_size for path in generations(folder)]
    assert len(sizes) == 7 and max(sizes) <= MEGABYTE and sum(sizes) <= limit
    assert all(read(store, ONE, range(14), 400_000))


def test_what_is_in_use_is_not_deleted_for_something_new(folder):
    store = LayerStore(folder)
    with pytest.raises(StoreFull, match=r"the size limit of 0\.01 GB is reached, and all of it is in use"):
        for number in range(100):
            write(store, ONE, [number], 400_000, 8 * MEGABYTE)

    assert number > 12
    assert read(store, ONE, range(number + 1), 400_000) == [True] * number + [False]
    assert sum((path / DATA).stat().st_size for path in generations(folder)) <= 8 * MEGABYTE


def test_oldest_run_makes_room(folder):
    """A run that only reads one generation keeps it and loses those that nobody uses, the oldest first."""
    limit = 8 * MEGABYTE
    for run, fingerprint in enumerate((ONE, TWO)):
        store = LayerStore(folder)
        for number in range(6):
            write(store, fingerprint, [number], 400_000, limit)
        del store
        for path in generations(folder):
            if path.name.startswith(fingerprint):
                os.utime(path / USED, (run, run))

    store = LayerStore(folder)
    assert read(store, ONE, [0], 400_000) == [True]
    for number in range(100, 112):
        write(store, TWO, [number], 400_000, limit)

    assert all(read(store, TWO, range(100, 112), 400_000))
    assert read(store, ONE, range(6), 400_000) == [True] * 2 + [False] * 4  # the first generation held two
    assert any(read(store, TWO, range(6), 400_000))
    assert sum((path / DATA).stat().st_size for path in generations(folder)) <= limit


def test_what_is_about_to_be_written_to_does_not_make_room_for_itself(folder):
    """The generation with room for more is the one whose last use lies longest ago."""
    store = LayerStore(folder)
    write(store, ONE, [0], 400_000, 8 * MEGABYTE)
    for number in range(14):
        write(store, TWO, [number], 400_000, 8 * MEGABYTE)
    del store
    for path in generations(folder):
        os.utime(path / USED, (1, 1) if path.name.startswith(ONE) else (2, 2))
    limit = sum((path / DATA).stat().st_size for path in generations(folder)) + 100_000

    store = LayerStore(folder)
    write(store, ONE, [1], 300_000, limit)

    assert read(store, ONE, [0], 400_000) + read(store, ONE, [1], 300_000) == [True, True]
    assert len([path for path in generations(folder) if path.name.startswith(TWO)]) == 6


def test_what_was_just_made_does_not_make_room_for_itself(folder):
    """Without its own few pages there would be room for what is to be written to it."""
    store = LayerStore(folder)
    for number in range(14):
        write(store, TWO, [number], 400_000, 8 * MEGABYTE)
    full = sum((path / DATA).stat().st_size for path in generations(folder))

    for room in (0, 9_000, *range(500_000, 600_000, 2_000)):
        try:
            write(store, ONE, [0], 400_000, full + room)
            break
        except StoreFull:
            assert read(store, ONE, [0], 400_000) == [False]
            assert sum((path / DATA).stat().st_size for path in generations(folder)) <= full + room
    assert read(store, ONE, [0], 400_000) == [True]
    assert len([path for path in generations(folder) if path.name.startswith(ONE)]) == 1


def use_and_wait(folder, used, done):
    store = LayerStore(folder)
    read(store, ONE, [0], 400_000)
    used.set()
    done.wait(60)
    os._exit(0 if all(read(store, ONE, [0, 1], 400_000)) else 1)


def test_what_another_process_uses_is_not_deleted(folder):
    limit = 4 * MEGABYTE
    store = LayerStore(folder)
    write(store, ONE, [0, 1], 400_000, limit)
    del store
    used, done = fork.Event(), fork.Event()
    process = fork.Process(target=use_and_wait, args=(folder, used, done))
    process.start()
    assert used.wait(30)

    store = LayerStore(folder)
    with pytest.raises(StoreFull):
        for number in range(100, 200):
            write(store, TWO, [number], 400_000, limit)
    done.set()
    process.join()
    assert process.exitcode == 0

    write(store, TWO, [number], 400_000, limit)  # nobody uses it any more
    assert read(store, ONE, [0], 400_000) == [False]


def test_one_entry_larger_than_a_generation(folder):
    store = LayerStore(folder)

    with pytest.raises(StoreFull, match="a sentence takes 1.5 MB, more than one file may grow to, which is 1/8 of"):
        store.write(ONE, [entry(0), entry(1, 1_500_000), entry(2)], 8 * MEGABYTE)
    assert read(store, ONE, [0, 1, 2]) == [True, False, True]
    assert len(generations(folder)) == 1


def test_many_entries_at_once_are_split(folder, monkeypatch):
    monkeypatch.setattr(layer_store, "_TRANSACTION", 20_000)
    written = []
    put = Generation.put
    monkeypatch.setattr(Generation, "put", lambda self, entries: (written.append(len(entries)), put(self, entries)))
    store = LayerStore(folder)
    write(store, ONE, range(10), 6_000)

    assert max(written) == 2 and sum(written) == 10
    assert all(read(store, ONE, range(10), 6_000))


def test_generation_that_is_full_earlier_than_expected(folder, monkeypatch):
    store = LayerStore(folder)
    write(store, ONE, [0], max_bytes=8 * SMALLEST)
    monkeypatch.setattr(Generation, "number_fitting", lambda self, entries, at_most: 0 if self.is_closed else 1)
    for number in range(1, 5):
        write(store, ONE, [number], 400_000, 8 * SMALLEST)

    assert len(generations(folder)) == 2
    assert all(read(store, ONE, range(1, 5), 400_000))


# The disk


def test_disk_is_not_filled(folder, monkeypatch):
    store = LayerStore(folder)
    write(store, ONE, [0])
    monkeypatch.setattr(layer_store, "RESERVE", 1 << 60)

    with pytest.raises(StoreFull, match=r"the disk has \d+\.\d\d GB left, and 1152921504\.61 GB are kept free"):
        write(store, ONE, [1])
    assert read(store, ONE, [0, 1]) == [True, False]
    monkeypatch.setattr(layer_store, "RESERVE", 0)
    write(store, ONE, [1])
    assert read(store, ONE, [0, 1]) == [True, True]


def write_to_the_end(folder, outcome):
    """What a full disk, a quota or a limit of the shell does in the midst of a write."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MEGABYTE, resource.RLIM_INFINITY))
    store = LayerStore(folder)
    try:
        for number in range(100):
            write(store, ONE, [number], 400_000)
    except StoreFailed as error:
        found = read(store, ONE, range(number), 400_000)
        outcome.put((str(error), number, all(found)))


def test_write_that_the_system_refuses(folder):
    outcome = fork.SimpleQueue()
    process = fork.Process(target=write_to_the_end, args=(folder, outcome))
    process.start()
    message, number, all_read = outcome.get()
    process.join()

    assert str(folder) in message and number >= 3 and all_read
    store = LayerStore(folder)
    assert all(read(store, ONE, range(number), 400_000))
    write(store, ONE, [number], 400_000)
    assert all(read(store, ONE, range(number + 1), 400_000))


# Other processes


def write_on_and_on(folder, begun, max_bytes):
    store = LayerStore(folder)
    for number in range(100_000):
        write(store, ONE, range(10 * number, 10 * number + 10), 20_000, max_bytes)
        begun.set()


@pytest.mark.parametrize(
    "max_bytes, share_a_generation",
    # Ten entries that a generation ends between are two transactions.
    [pytest.param(64 * MEGABYTE, False, id="many generations"), pytest.param(1024 * MEGABYTE, True, id="one")],
)
@pytest.mark.parametrize("delay", [0.0, 0.013, 0.05, 0.12])
def test_killed_while_it_writes(folder, delay, max_bytes, share_a_generation):
    begun = fork.Event()
    process = fork.Process(target=write_on_and_on, args=(folder, begun, max_bytes))
    process.start()
    assert begun.wait(30)
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    process.join()

    store = LayerStore(folder)
    found = read(store, ONE, range(2000), 20_000)
    number = sum(found)
    assert number >= 10 and found == [True] * number + [False] * (2000 - number)
    assert not share_a_generation or number % 10 == 0  # whole transactions
    write(store, ONE, range(number, number + 20), 20_000)
    assert all(read(store, ONE, range(number + 20), 20_000))


def test_what_a_killed_process_left_half_made_is_swept(folder):
    store = LayerStore(folder)
    write(store, ONE, [0])
    (folder / ".temporary-abc").mkdir()
    (folder / ".temporary-abc" / DATA).write_bytes(b"half")
    write(store, ONE, [1])

    assert len(generations(folder)) == 1
    assert read(store, ONE, [0, 1]) == [True, True]


def write_own(folder, first, barrier):
    store = LayerStore(folder)
    barrier.wait(30)
    for number in range(first, first + 20):
        write(store, ONE, [number, 1000], 60_000, 16 * MEGABYTE)
        assert read(store, ONE, [number, 1000], 60_000) == [True, True]
    os._exit(0)


def test_two_writers_at_once(folder):
    barrier = fork.Barrier(2)
    processes = [fork.Process(target=write_own, args=(folder, first, barrier)) for first in (0, 100)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0]
    store = LayerStore(folder)
    assert all(read(store, ONE, [*range(20), *range(100, 120), 1000], 60_000))
    assert len(generations(folder)) == 2


def write_after_a_word(folder, word, done):
    store = LayerStore(folder)
    word.wait(30)
    write(store, ONE, [7])
    done.set()
    time.sleep(60)


def test_readers_see_what_others_write(folder):
    word, done = fork.Event(), fork.Event()
    process = fork.Process(target=write_after_a_word, args=(folder, word, done))
    process.start()
    store = LayerStore(folder)
    assert read(store, ONE, [7]) == [False]
    word.set()
    assert done.wait(30)

    assert read(store, ONE, [7]) == [True]
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def test_writer_that_has_stopped_delays_nobody_twice(folder, monkeypatch):
    monkeypatch.setattr(layer_store, "PATIENCE", 0.2)
    store = LayerStore(folder)
    other = FileLock(folder / LOCK)
    other.acquire(exclusive=True)

    for waits in (True, False):
        begin = time.monotonic()
        with pytest.raises(StoreFull, match=f"another process has held {folder / LOCK} for"):
            write(store, ONE, [0])
        assert (time.monotonic() - begin >= 0.2) is waits
    other.release()
    write(store, ONE, [0])
    assert read(store, ONE, [0]) == [True]


# Damage


def damage(path, offset, length=1):
    with open(path / DATA, "r+b") as data:
        data.seek(offset)
        old = data.read(length)
        data.seek(offset)
        data.write(bytes(byte ^ 0x10 for byte in old))


def find(path, value):
    return (path / DATA).read_bytes().index(value)


def test_damaged_entry_is_not_taken_and_can_be_replaced(folder):
    write(LayerStore(folder), ONE, range(5), 9_000)
    (path,) = generations(folder)
    damage(path, find(path, entry(3, 9_000)[1]) + 5_000)
    store = LayerStore(folder)

    assert read(store, ONE, range(5), 9_000) == [True, True, True, False, True]
    write(store, ONE, [3], 9_000)
    assert all(read(store, ONE, range(5), 9_000))
    del store
    assert all(read(LayerStore(folder), ONE, range(5), 9_000))


# Before, LMDB trusted its pages, and damaged ones could end the process.
checks_pages = pytest.mark.skipif(int(sys.modules["lmdb"].__version__.split(".")[0]) < 3, reason="needs lmdb 3")


@checks_pages
def test_damaged_tree_is_put_aside(folder, caplog):
    write(LayerStore(folder), ONE, range(50))
    (path,) = generations(folder)
    size = (path / DATA).stat().st_size
    for page in range(2, size // 4096):
        damage(path, 4096 * page + 8, 8)  # page number, kind and bounds
    store = LayerStore(folder)

    with caplog.at_level(logging.WARNING):
        assert read(store, ONE, range(50)) == [False] * 50
        assert read(store, ONE, range(50)) == [False] * 50
    assert len(caplog.records) == 1
    assert f"{path} is not a readable part of a layer cache" in caplog.text and "Delete this folder" in caplog.text
    write(store, ONE, range(50))
    assert all(read(store, ONE, range(50)))


@checks_pages
def test_damaged_tree_found_by_a_write(folder):
    write(LayerStore(folder), ONE, range(50))
    (path,) = generations(folder)
    for page in range(2, (path / DATA).stat().st_size // 4096):
        damage(path, 4096 * page + 8, 8)
    store = LayerStore(folder)
    write(store, ONE, range(50))

    assert all(read(store, ONE, range(50)))


@pytest.mark.parametrize("keep", [0, 100, 4096 * 2, 4096 * 5], ids=str)
def test_file_that_was_cut_off(folder, keep):
    write(LayerStore(folder), ONE, range(20), 9_000)
    (path,) = generations(folder)
    with open(path / DATA, "r+b") as data:
        data.truncate(keep)
    store = LayerStore(folder)

    if keep == 0:  # as when it was just made
        assert read(store, ONE, range(20), 9_000) == [False] * 20
    else:
        with pytest.raises(FormatError, match=f"{path} is not a readable part of a layer cache .*Delete this folder"):
            read(store, ONE, range(20), 9_000)
        shutil.rmtree(path)
    write(store, ONE, range(20), 9_000)
    assert all(read(store, ONE, range(20), 9_000))


@pytest.mark.parametrize("content", [b"x" * 20_000, bytes(20_000)], ids=["text", "zeros"])
def test_file_that_is_something_else(folder, content):
    write(LayerStore(folder), ONE, range(20))
    (path,) = generations(folder)
    (path / DATA).write_bytes(content)

    with pytest.raises(FormatError, match=f"{path} is not a readable part of a layer cache"):
        read(LayerStore(folder), ONE, [0])


def test_generation_without_its_file(folder):
    write(LayerStore(folder), ONE, [0])
    (path,) = generations(folder)
    os.unlink(path / DATA)
    store = LayerStore(folder)

    assert read(store, ONE, [0]) == [False]
    write(store, ONE, [0])
    assert read(store, ONE, [0]) == [True]


@pytest.mark.parametrize("where", ["open", "begin"])
def test_what_the_system_refuses_is_no_damage(folder, where, monkeypatch):
    lmdb = pytest.importorskip("lmdb")
    write(LayerStore(folder), ONE, [0])
    refusals = {"open": lmdb.Error("Too many open files"), "begin": lmdb.ReadersFullError("MDB_READERS_FULL")}

    def refuse(*_, **__):
        raise refusals[where]

    store = LayerStore(folder)
    with monkeypatch.context() as context:
        if where == "open":
            context.setattr(lmdb, "open", refuse)
        else:
            context.setattr(Generation, "_opened", lambda _: SimpleNamespace(begin=refuse))
        with pytest.raises(OSError, match=f"{generations(folder)[0]}: .*(open files|READERS_FULL)"):
            read(store, ONE, [0])

    assert read(store, ONE, [0]) == [True]


def test_full_generation_says_so(tmp_path):
    generation = Generation.create(tmp_path / "one", SMALLEST, tmp_path / "temporary")

    with pytest.raises(GenerationFull, match=str(tmp_path / "one")):
        generation.put([entry(0, 2 * MEGABYTE)])
    assert generation.number_fitting([entry(1)], at_most=MEGABYTE) == 0


# What is refused


def test_file_in_place_of_a_folder(folder):
    folder.write_text("text")

    with pytest.raises(FormatError, match=f"{folder} is a file, expected a folder for the layer cache"):
        LayerStore(folder)


def test_folder_of_something_else(folder):
    folder.mkdir()
    (folder / "thesis.tex").write_text("text")

    with pytest.raises(FormatError, match=f"{folder} is not a layer cache: .*holds 'thesis.tex'.*Choose a new or an"):
        LayerStore(folder)
    assert os.listdir(folder) == ["thesis.tex"]


def test_empty_folder_is_taken(folder):
    folder.mkdir()
    write(LayerStore(folder), ONE, [0])

    assert json.loads((folder / MARKER).read_text()) == {"format": "elmo_plugin.layer_cache/1"}


@pytest.mark.parametrize("text", ["", "{}", "[]", "no json", '{"format": 1'], ids=str)
def test_description_that_is_none(folder, text):
    folder.mkdir()
    (folder / MARKER).write_text(text)

    with pytest.raises(FormatError, match=f"{folder / MARKER}: not the description of a layer cache"):
        LayerStore(folder)


def test_format_of_another_version(folder):
    folder.mkdir()
    (folder / MARKER).write_text('{"format": "elmo_plugin.layer_cache/2"}')

    with pytest.raises(FormatError, match="format 'elmo_plugin.layer_cache/2', expected 'elmo_plugin.layer_cache/1'"):
        LayerStore(folder)


def test_without_lmdb(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "lmdb", None)

    with pytest.raises(EngineError, match='needs the package lmdb, which is not installed. Install it .*"pip install'):
        write(LayerStore(folder), ONE, [0])


def test_other_files_of_the_folder_are_left_alone(folder):
    store = LayerStore(folder)
    write(store, ONE, [0])
    (folder / "notes").mkdir()
    (folder / "notes" / "file").write_text("text")
    with pytest.raises(StoreFull):
        for number in range(100):
            write(store, ONE, [number], 400_000, 4 * MEGABYTE)

    assert (folder / "notes" / "file").read_text() == "text"
