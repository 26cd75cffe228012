import threading
import time

import pytest

from elmo_plugin.embedding.background import BackgroundThread


def test_order_and_another_thread():
    seen = []
    thread = BackgroundThread()
    for number in range(20):
        thread.put(lambda number=number: seen.append((number, threading.current_thread())))
    thread.finish()
    thread.stop()

    assert [number for number, _ in seen] == list(range(20))
    assert threading.current_thread() not in {worker for _, worker in seen}


def test_what_fails_is_raised_and_nothing_behind_it_runs():
    seen = []
    thread = BackgroundThread(waiting=5)
    gate = threading.Event()
    thread.put(gate.wait)
    thread.put(int, "no number")
    thread.put(seen.append, 1)
    gate.set()
    with pytest.raises(ValueError, match="no number"):
        thread.finish()
    thread.stop()

    assert seen == []


def test_few_wait():
    running = []
    thread = BackgroundThread(waiting=1)

    def work():
        running.append(1)
        time.sleep(0.02)

    for handed_in in range(1, 8):
        thread.put(work)
        assert len(running) >= handed_in - 3  # one runs, one waits, one was just handed in
    thread.finish()
    thread.stop()
    assert len(running) == 7
