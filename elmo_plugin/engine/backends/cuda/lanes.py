"""The directions side by side: each on a stream of its own."""

from typing import Callable, List, Sequence

import torch


class Lanes:
    """
    Streams beside the current one.

    # Parameters

    device : where; on other devices than GPUs one task runs after the other.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._sides: List[torch.cuda.Stream] = []

    def run(self, tasks: Sequence[Callable[[], None]]) -> None:
        """
        Run independent tasks. What was launched before is done before them, and they before what comes after.

        # Parameters

        tasks : write only into memory that exists already, or that they give back themselves.
        """
        if self._device.type != "cuda":
            for task in tasks:
                task()
            return
        current = torch.cuda.current_stream(self._device)
        while len(self._sides) < len(tasks) - 1:
            self._sides.append(torch.cuda.Stream(self._device))
        sides = self._sides[: len(tasks) - 1]
        for side in sides:
            side.wait_stream(current)
        try:
            for stream, task in zip([current, *sides], tasks):
                with torch.cuda.stream(stream):
                    task()
        finally:
            for side in sides:
                current.wait_stream(side)
