"""Locks: who may have them together, patience, and what becomes of them when a process is killed."""

import multiprocessing
import os
import signal
import time

import pytest

from elmo_plugin.engine import file_lock
from elmo_plugin.engine.file_lock import FileLock

pytestmark = pytest.mark.skipif(not FileLock.is_supported(), reason="no locks on this system")

fork = multiprocessing.get_context("fork")


@pytest.mark.parametrize(
    "first,second,together", [(True, True, False), (True, False, False), (False, True, False), (False, False, True)]
)
def test_alone_or_together(tmp_path, first, second, together):
    one, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")

    assert one.acquire(exclusive=first)
    assert one.is_held
    assert other.acquire(exclusive=second) is together
    assert other.is_held is together
    other.release()
    one.release()
    assert not one.is_held
    assert other.acquire(exclusive=second)


def test_patience(tmp_path):
    one, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    one.acquire(exclusive=True)

    begin = time.monotonic()
    assert not other.acquire(exclusive=True, patience=0.05)
    assert time.monotonic() - begin >= 0.05


def test_object_that_is_gone_holds_nothing(tmp_path):
    FileLock(tmp_path / "lock").acquire(exclusive=True)

    assert FileLock(tmp_path / "lock").acquire(exclusive=True)


def hold(path, holds):
    lock = FileLock(path)
    lock.acquire(exclusive=True)
    holds.set()
    time.sleep(60)


def test_killed_process_holds_nothing(tmp_path):
    holds = fork.Event()
    process = fork.Process(target=hold, args=(tmp_path / "lock", holds))
    process.start()
    assert holds.wait(30)
    lock = FileLock(tmp_path / "lock")
    assert not lock.acquire(exclusive=True)

    os.kill(process.pid, signal.SIGKILL)
    process.join()

    assert lock.acquire(exclusive=True)


def test_child_that_lives_on_does_not_keep_what_its_parent_released(tmp_path):
    lock = FileLock(tmp_path / "lock")
    lock.acquire(exclusive=True)
    child = fork.Process(target=time.sleep, args=(60,))
    child.start()

    lock.release()

    assert FileLock(tmp_path / "lock").acquire(exclusive=True)
    os.kill(child.pid, signal.SIGKILL)
    child.join()


def test_child_that_ends_does_not_give_back_what_its_parent_holds(tmp_path):
    """As where a process that forked ends in the ordinary way, or drops what it got a copy of."""
    lock = FileLock(tmp_path / "lock")
    lock.acquire(exclusive=True)
    child = fork.Process(target=lock.release)
    child.start()
    child.join()

    assert child.exitcode == 0 and lock.is_held
    assert not FileLock(tmp_path / "lock").acquire(exclusive=True)
    lock.release()
    assert FileLock(tmp_path / "lock").acquire(exclusive=True)


def test_file_that_is_gone_or_another_one_is_not_in_its_place(tmp_path):
    path = tmp_path / "lock"
    lock = FileLock(path)
    assert not lock.is_in_place
    assert lock.acquire(exclusive=True) and lock.is_in_place

    path.unlink()
    assert lock.is_held and not lock.is_in_place
    path.touch()
    assert lock.is_held and not lock.is_in_place


def test_without_locks_everything_can_be_had(tmp_path, monkeypatch):
    monkeypatch.setattr(file_lock, "fcntl", None)

    assert not FileLock.is_supported()
    locks = [FileLock(tmp_path / "lock") for _ in range(2)]
    assert all(lock.acquire(exclusive=True) for lock in locks)
    for lock in locks:
        lock.release()


def test_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "none" / "lock").acquire(exclusive=True)
