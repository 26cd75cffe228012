"""Memory of a GPU that calls share, whichever stream each of them is on."""

from contextlib import contextmanager
from typing import Dict, Iterator

import torch


class StreamOrder:
    """Lets the GPU do one call after the other, as the threads take turns. It is no lock: the caller holds one."""

    def __init__(self) -> None:
        self._last: Dict[torch.device, torch.cuda.Event] = {}

    @contextmanager
    def turn(self, device: torch.device) -> Iterator[None]:
        """
        Launch work behind that of the turn before.

        # Parameters

        device : where the work is launched; elsewhere than on GPUs there is nothing to put in order.
        """
        if device.type != "cuda":
            yield
            return
        if device in self._last:
            torch.cuda.current_stream(device).wait_event(self._last[device])
        else:
            self._last[device] = torch.cuda.Event()
        try:
            yield
        finally:
            self._last[device].record(torch.cuda.current_stream(device))
