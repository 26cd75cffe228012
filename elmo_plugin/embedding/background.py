"""Work on a second thread, in order, with few pieces waiting."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Deque


class BackgroundThread:
    """
    Runs tasks one after the other beside the thread that hands them in.

    What a task raises is raised by the next call of `put`, or by `finish`; the tasks behind it are not run.

    # Parameters

    waiting : tasks that may wait; with as many waiting, `put` waits too.
    """

    def __init__(self, waiting: int = 2) -> None:
        self._waiting = waiting
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="elmo-writer")
        self._futures: Deque[Future[Any]] = deque()
        self._has_failed = False

    def put(self, task: Callable[..., Any], *arguments: Any) -> None:
        """Hand in a task."""
        while self._futures and (len(self._futures) > self._waiting or self._futures[0].done()):
            self._next_result()
        self._futures.append(self._executor.submit(self._run, task, *arguments))

    def finish(self) -> None:
        """Wait for all tasks."""
        while self._futures:
            self._next_result()

    def stop(self) -> None:
        """Drop what waits, and wait for what runs."""
        for future in self._futures:
            future.cancel()
        self._futures.clear()
        self._executor.shutdown(wait=True)

    def _run(self, task: Callable[..., Any], *arguments: Any) -> None:
        if self._has_failed:  # what waits builds on what failed
            return
        try:
            task(*arguments)
        except BaseException:
            self._has_failed = True
            raise

    def _next_result(self) -> None:
        self._futures.popleft().result()
