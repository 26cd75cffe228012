"""Work in a process of its own, which can be killed."""

import multiprocessing
import os
import signal
from typing import Callable, Optional

import torch


def run_in_process(
    work: Callable[[], object], before: Optional[Callable[[], None]] = None, kill_after: Optional[float] = None
) -> Optional[int]:
    """
    Work in a fork of this process.

    # Parameters

    work : what to do there.
    before : called there first.
    kill_after : seconds until the process is killed, unless it has ended.

    # Returns

    Its exit code: negative for a signal.
    """

    def all_of_it() -> None:
        torch.set_num_threads(1)  # threads do not survive a fork
        if before is not None:
            before()
        work()

    process = multiprocessing.get_context("fork").Process(target=all_of_it)
    process.start()
    process.join(kill_after)
    if process.is_alive():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return process.exitcode
