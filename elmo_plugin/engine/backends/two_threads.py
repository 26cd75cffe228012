"""
Two tasks side by side, with the threads of PyTorch's own operators divided between them.

A product that is split over all threads waits for the slowest of them at its end. Two independent chains of products
that are too small for that go faster on two threads.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Callable, Optional, Tuple, TypeVar

import torch

T = TypeVar("T")


class _Worker:
    """The second thread. One for the whole process: the number of PyTorch's threads is a setting of the process."""

    def __init__(self) -> None:
        self.is_busy = threading.Lock()
        self._executor: Optional[ThreadPoolExecutor] = None

    def executor(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="elmo-direction")
        return self._executor


_worker = _Worker()


def _after_fork() -> None:
    """A forked process inherits the executor and the lock, but not the thread that would work or unlock."""
    global _worker
    _worker = _Worker()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_after_fork)


def run_both(first: Callable[[], T], second: Callable[[], T]) -> Tuple[T, T]:
    """
    Run two tasks, side by side if PyTorch has two threads or more and no other call is doing the same.

    # Parameters

    first, second : tasks that need no gradients and do not depend on each other.

    # Returns

    What the tasks return. Where one raises, the exception comes when both have ended.
    """
    threads = torch.get_num_threads()
    worker = _worker
    if threads < 2 or not worker.is_busy.acquire(blocking=False):
        return first(), second()
    each = threads // 2
    try:
        torch.set_num_threads(each)
        future = worker.executor().submit(_with_threads, second, each)
        try:
            result = first()
        finally:
            wait([future])
        return result, future.result()
    finally:
        torch.set_num_threads(threads)
        worker.is_busy.release()


def _with_threads(task: Callable[[], T], threads: int) -> T:
    # Both settings belong to the thread, and a new thread starts with neither.
    torch.set_num_threads(threads)
    with torch.no_grad():
        return task()
