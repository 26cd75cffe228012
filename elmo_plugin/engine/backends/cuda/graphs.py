"""
Captured graphs: hundreds of launches of a piece of steps as one.

A graph remembers addresses, not values. What may change between two runs (states, inputs, the schedule) therefore
lives at fixed places in a workspace; weights are read where they are, so that a key has to name their addresses.
"""

import inspect
from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import Any, Callable, Dict, Hashable, Optional
from weakref import WeakSet

import torch

#: keys that were seen once are remembered for so many times the number of graphs
_SEEN_PER_GRAPH = 4


class Recorder(ABC):
    """Turns work into something that can be run again."""

    @abstractmethod
    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        """Note what `work` launches, without running it, and return what runs it."""

    @abstractmethod
    def wait(self) -> None:
        """Return when nothing is running any more."""


class GraphCache:
    """
    The graphs that were used last. Work is captured when it comes up for the second time: once is not worth it, and
    what does not come back, such as weights that are computed anew for each call, never costs a capture.

    # Parameters

    recorder : makes them.
    limit : the number of graphs that are kept; 0 for none.
    """

    def __init__(self, recorder: Recorder, limit: int) -> None:
        self._recorder = recorder
        self._limit = limit
        self._graphs: OrderedDict[Hashable, Callable[[], None]] = OrderedDict()
        self._seen: OrderedDict[Hashable, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._graphs)

    @property
    def is_used(self) -> bool:
        """Whether any graph is kept."""
        return self._limit > 0

    def run(self, key: Hashable, work: Callable[[], None]) -> None:
        """
        Do work once.

        # Parameters

        key : names everything that the launches depend on, but for values at fixed addresses.
        work : launches that serve whatever values are there. They run as they are at first, which also loads every
            kernel: that is not possible during a capture.
        """
        graph = self._graphs.get(key)
        if graph is None and key in self._seen:
            del self._seen[key]
            while len(self._graphs) >= self._limit:
                self._recorder.wait()
                self._graphs.popitem(last=False)
            graph = self._graphs[key] = self._recorder.capture(work)
        if graph is not None:
            self._graphs.move_to_end(key)
            graph()
            return
        work()
        self._seen[key] = None
        if len(self._seen) > _SEEN_PER_GRAPH * self._limit:
            self._seen.popitem(last=False)

    def clear(self) -> None:
        """
        Give all graphs back, when everything on the device has ended: the memory that it worked in may go back too, to
        the stream that it was made on, which need not be the one that used it last.
        """
        self._recorder.wait()
        self._graphs.clear()
        self._seen.clear()


class CudaRecorder(Recorder):
    """
    CUDA's graphs on one device. All that live share one pool of memory: none leaves anything there that another reads.

    # Parameters

    device : with its number.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._pool: Any = None
        self._live: WeakSet[Any] = WeakSet()
        # Other threads, such as one that pins memory for a data loader, may go on meanwhile.
        self._mode: Dict[str, Any] = {}
        if "capture_error_mode" in inspect.signature(torch.cuda.CUDAGraph.capture_begin).parameters:  # torch >= 2.1
            self._mode = {"capture_error_mode": "thread_local"}

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        # PyTorch refuses to capture into a pool whose last graph is gone.
        if not self._live:
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            graph.capture_begin(pool=self._pool, **self._mode)
            failure: Optional[BaseException] = None
            try:
                work()
            except BaseException as error:
                failure = error
                raise
            finally:
                _end(graph, failure)
        current.wait_stream(self._stream)
        self._live.add(graph)
        return graph.replay

    def wait(self) -> None:
        torch.cuda.synchronize(self._device)


def _end(graph: Any, failure: Optional[BaseException]) -> None:
    try:
        graph.capture_end()
    except RuntimeError:
        if failure is None:  # else the first one says more
            raise
