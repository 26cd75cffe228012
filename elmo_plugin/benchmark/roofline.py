"""
What the machine could do at most: measured product rates and memory bandwidth against the work that a word takes.

Only the LSTMs count: with every word's vector known, that is the work that no exact method can leave out. They need the
two products with their weights for each word and boundary, and the recurrent weights anew in each step, which come from
memory where they do not fit the cache.
"""

import time
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.options import BiLmOptions

#: Rows, inner and outer size of a product that runs at the highest rate.
_LARGE = (1024, 1024, 1024)

# rows of the product for the inputs of many steps
_INPUT_ROWS = 1024

# a matrix much larger than any cache: 256 MiB, 1 GiB
_BEYOND_CACHE = {"cpu": (16384, 4096), "cuda": (65536, 4096)}

_SECONDS = 0.15
_BYTES = 4  # float32

Shape = Tuple[int, int, int]


@dataclass(frozen=True)
class Rates:
    """
    The best measured rates of a machine, in float32 with so many threads.

    # Parameters

    device, threads : what was measured.
    peak : multiplications and additions a second in a large product.
    bandwidth : bytes a second when a matrix much larger than any cache is read once.
    cache : size of the largest cache in bytes; None where it is not known.
    """

    device: str
    threads: int
    peak: float
    bandwidth: float
    cache: Optional[int]


@dataclass(frozen=True)
class Limit:
    """
    What a case could reach.

    # Parameters

    words_per_second : by arithmetic at the peak rate, or by memory where that binds.
    bound : "arithmetic" or "memory".
    products_per_second : words a second if all work were its products, at the rates measured for their shapes.
    flops_per_word, bytes_per_word : the work; boundaries of the sentences are shared among their words.
    """

    words_per_second: float
    bound: str
    products_per_second: float
    flops_per_word: float
    bytes_per_word: float


class Roofline:
    """
    Keeps the best rates that were ever measured: a neighbour can only make them worse.

    # Parameters

    device : where.
    threads : number of threads that PyTorch is set to while this measures.
    cache : size of the largest cache in bytes; None where it is not known.
    """

    def __init__(self, device: torch.device, threads: int, cache: Optional[int]) -> None:
        self._device = device
        self._threads = threads
        self._cache = cache
        self._products: Dict[Shape, float] = {}
        self._bandwidth = 0.0

    @property
    def rates(self) -> Rates:
        """The best so far."""
        return Rates(str(self._device), self._threads, self._products[_LARGE], self._bandwidth, self._cache)

    def measure(self, options: BiLmOptions, batch: int) -> None:
        """Measure the machine, and the products of a biLM for so many sentences at once."""
        for shape in [_LARGE, *_shapes(options, batch)]:
            self._products[shape] = max(self._products.get(shape, 0.0), self._product_rate(shape))
        self._bandwidth = max(self._bandwidth, self._memory_rate())

    def limit(self, options: BiLmOptions, batch: int, lengths: Sequence[Sequence[int]]) -> Limit:
        """
        Return the limit for batches of text, for which `measure` was called.

        # Parameters

        options : the architecture.
        batch : sentences in a batch.
        lengths : words of each sentence of each batch.
        """
        words = sum(map(sum, lengths))
        tokens = sum(length + 2 for of_batch in lengths for length in of_batch)
        steps = sum(max(of_batch) + 2 for of_batch in lengths)
        jobs = 2 * options.lstm.n_layers
        shapes = _shapes(options, batch)
        flops = [jobs * 2.0 * inner * outer * tokens / words for _, inner, outer in shapes]
        recurrent = sum(inner * outer for _, inner, outer in shapes[1:]) * _BYTES
        fits = self._cache is not None and recurrent <= self._cache
        size = 0.0 if fits else jobs * recurrent * steps / words
        by_arithmetic, by_memory = sum(flops) / self.rates.peak, size / self.rates.bandwidth
        return Limit(
            words_per_second=1 / max(by_arithmetic, by_memory),
            bound="memory" if by_memory > by_arithmetic else "arithmetic",
            products_per_second=1 / sum(work / self._products[shape] for work, shape in zip(flops, shapes)),
            flops_per_word=sum(flops),
            bytes_per_word=size,
        )

    def _product_rate(self, shape: Shape) -> float:
        """Multiplications and additions a second of `(rows, inner) x (inner, outer)`."""
        rows, inner, outer = shape
        inputs = torch.randn(rows, inner, device=self._device)
        weight = torch.randn(outer, inner, device=self._device)
        outputs = torch.empty(rows, outer, device=self._device)
        seconds = self._fastest(lambda: torch.mm(inputs, weight.t(), out=outputs))
        return 2.0 * rows * inner * outer / seconds

    def _memory_rate(self) -> float:
        rows, columns = _BEYOND_CACHE[self._device.type]
        matrix = torch.ones(rows, columns, device=self._device)
        vector = torch.ones(columns, device=self._device)
        outputs = torch.empty(rows, device=self._device)
        return rows * columns * _BYTES / self._fastest(lambda: torch.mv(matrix, vector, out=outputs))

    def _fastest(self, work: Callable[[], object]) -> float:
        """Seconds of the fastest call; several calls count as one where a single one is too short for the clock."""
        calls = 1
        fastest = float("inf")
        self._timed(work, 1)  # the first call is not like the others
        begun = time.perf_counter()
        while time.perf_counter() - begun < _SECONDS:
            seconds = self._timed(work, calls)
            fastest = min(fastest, seconds / calls)
            if seconds < _SECONDS / 50:
                calls *= 2
        return fastest

    def _timed(self, work: Callable[[], object], calls: int) -> float:
        begun = time.perf_counter()
        for _ in range(calls):
            work()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter() - begun


def _shapes(options: BiLmOptions, batch: int) -> List[Shape]:
    """The products of a layer: inputs of many steps, recurrence, projection."""
    lstm = options.lstm
    gates = (lstm.projection_dim, 4 * lstm.dim)
    shapes = [(_INPUT_ROWS, *gates), (batch, *gates)]
    return shapes + ([(batch, lstm.dim, lstm.projection_dim)] if lstm.has_projection else [])
