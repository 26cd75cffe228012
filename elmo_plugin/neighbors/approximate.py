"""
Search through a part of the vectors: those in the cells of space that are nearest to the query.

The vectors of a layer are put into cells around centres that were found on a sample, one file of faiss for each part of
the text, with a byte for each number of a vector. What a search finds there is put in order by the vectors themselves.
"""

import math
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from elmo_plugin.embedding.durable import TEMPORARY, put_in_place
from elmo_plugin.embedding.parts_folder import PartsFolder
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.neighbors.library import load_faiss, unit
from elmo_plugin.neighbors.nearest import NONE, NearestSearch, Neighbors, merge, nothing

FOLDER = "approximate"
RECALL_WANTED = 0.95

#: shares of the cells among which the number of cells to look into is chosen
_SHARES = (64, 32, 16, 8, 4, 2, 1)
_SAMPLE = 100_000
_LEAST_IN_A_CELL = 39  # with fewer, faiss warns that the centres are poor
_QUERIES = 200
_K = 10
#: candidates for each neighbour, to be put in order by the vectors themselves
_CANDIDATES = 4
_SEED = 0


class Cells(NamedTuple):
    """
    How a layer is searched.

    # Parameters

    cells : of the layer.
    looked_into : cells in a search.
    recall : share of the 10 nearest that were found, of as many tokens of the text as `queries` says.
    queries : tokens that this was measured on.
    """

    cells: int
    looked_into: int
    recall: float
    queries: int


def sample(tokens: int, size: int, seed: int = _SEED) -> np.ndarray:
    """Draw numbers of tokens without repetition, in rising order."""
    random = np.random.default_rng(seed)
    size = min(size, tokens)
    # Of very many tokens a permutation would not fit the memory: enough of them, some twice, from which to choose.
    among = tokens if tokens < 1 << 24 else np.unique(random.integers(0, tokens, 2 * size))
    return np.sort(random.choice(among, size, replace=False).astype(np.int64))


class ApproximateLayer:
    """
    The cells of a layer on disk.

    # Parameters

    vectors : of the text.
    layer : its number.
    folder : with the files of all layers.
    """

    def __init__(self, vectors: PartsFolder, layer: int, folder: Path) -> None:
        self._faiss = load_faiss()
        self._vectors = vectors
        self._layer = layer
        self._folder = folder
        self._parts = sorted({block.part for block in vectors.blocks})
        self._opened: Optional[List[Any]] = None

    def build(self) -> Cells:
        """Write the files that are missing, and measure."""
        self._folder.mkdir(parents=True, exist_ok=True)
        centres = self._path("centres")
        if not centres.is_file():
            self._write(self._trained(), centres)
        for part in self._parts:
            if not self._path(f"{part:08d}").is_file():
                self._write(self._filled(part, centres), self._path(f"{part:08d}"))
        return self._measure()

    def search(self, queries: np.ndarray, k: int, looked_into: int) -> Neighbors:
        """
        Find neighbours.

        # Parameters

        queries : `(queries, dim)`.
        k : neighbours of each.
        looked_into : cells to look into.

        # Raises

        `FormatError` where a file of the cells is missing or damaged.
        """
        if self._opened is None:
            # Mapped: of a file only the cells that are looked into come into memory.
            flag = self._faiss.IO_FLAG_MMAP
            self._opened = [self._read(self._path(f"{part:08d}"), flag) for part in self._parts]
        scaled = unit(queries)
        candidates = nothing(len(queries), _CANDIDATES * k)
        for index in self._opened:
            self._faiss.extract_index_ivf(index).nprobe = looked_into
            found = Neighbors(*index.search(scaled, min(_CANDIDATES * k, index.ntotal)))
            candidates = merge(candidates, found, _CANDIDATES * k)
        return self._in_order(scaled, candidates.numbers, k)

    def _in_order(self, scaled: np.ndarray, candidates: np.ndarray, k: int) -> Neighbors:
        numbers = np.unique(candidates[candidates != NONE])
        vectors = unit(self._vectors.gather(self._layer, numbers))
        places = np.searchsorted(numbers, candidates).clip(max=max(0, len(numbers) - 1))
        similarities = np.full(candidates.shape, -np.inf, dtype=np.float32)
        for row, query in enumerate(scaled):
            there = candidates[row] != NONE
            similarities[row][there] = vectors[places[row][there]] @ query
        return merge(Neighbors(similarities, candidates), nothing(len(scaled), 0), k)

    def _trained(self) -> Any:
        faiss = self._faiss
        tokens = self._vectors.tokens
        drawn = unit(self._vectors.gather(self._layer, sample(tokens, _SAMPLE)))
        cells = max(1, min(int(4 * math.sqrt(tokens)), len(drawn) // _LEAST_IN_A_CELL))
        index = faiss.index_factory(drawn.shape[1], f"IVF{cells},SQ8", faiss.METRIC_INNER_PRODUCT)
        index.train(drawn)
        return index

    def _filled(self, part: int, centres: Path) -> Any:
        index = self._read(centres)
        for block in self._vectors.blocks:
            if block.part == part:
                numbers = np.arange(block.first, block.first + block.tokens, dtype=np.int64)
                index.add_with_ids(unit(block.vectors(self._layer)), numbers)
        return index

    def _measure(self) -> Cells:
        """Look into as few cells as give the recall that is wanted, or into all."""
        cells = int(self._faiss.extract_index_ivf(self._read(self._path("centres"))).nlist)
        drawn = sample(self._vectors.tokens, _QUERIES, seed=_SEED + 1)
        queries = self._vectors.gather(self._layer, drawn)
        # One more, since each of these tokens is its own neighbour.
        expected = exact_neighbors(self._vectors, self._layer, queries, _K + 1)
        looked_into, recall = cells, 1.0
        for share in _SHARES:
            looked_into = max(1, cells // share)
            recall = _recall(self.search(queries, _K + 1, looked_into), expected, drawn)
            if recall >= RECALL_WANTED:
                break
        return Cells(cells, looked_into, recall, len(drawn))

    def _write(self, index: Any, path: Path) -> None:
        temporary = path.with_name(path.name + TEMPORARY)
        # faiss's own files do not say that the disk was full when they were closed.
        with temporary.open("wb") as file:
            self._faiss.write_index(index, self._faiss.PyCallbackIOWriter(file.write))
        put_in_place(temporary, path)

    def _read(self, path: Path, flag: int = 0) -> Any:
        try:
            return self._faiss.read_index(str(path), flag)
        except RuntimeError as error:
            reason = "damaged" if path.is_file() else "missing"
            raise FormatError(
                f"{path}: {reason}, expected cells for approximate search. Delete the folder {self._folder} and build "
                "the index with --approximate --resume, which takes the vectors that are there; or search exactly."
            ) from error

    def _path(self, name: str) -> Path:
        return self._folder / f"layer{self._layer}.{name}.faiss"


def exact_neighbors(vectors: PartsFolder, layer: int, queries: np.ndarray, k: int) -> Neighbors:
    """Look at all vectors of a layer."""
    search = NearestSearch(queries, k)
    for block in vectors.blocks:
        search.add(block.vectors(layer), np.arange(block.first, block.first + block.tokens, dtype=np.int64))
    return search.result()


def _recall(found: Neighbors, expected: Neighbors, queries: np.ndarray) -> float:
    """Share of the nearest tokens, the query itself left out, that were found; those as near as the last one count."""
    hits = total = 0
    for row, query in enumerate(queries):
        wanted = expected.numbers[row] != query
        last = expected.similarities[row][wanted & (expected.numbers[row] != NONE)][:_K]
        if not len(last):
            continue
        near = (found.numbers[row] != query) & (found.numbers[row] != NONE)
        hits += min(len(last), int((found.similarities[row][near] >= last[-1] - 1e-6).sum()))
        total += len(last)
    return hits / total if total else 1.0


def to_json(layers: Dict[int, Cells]) -> Dict[str, Dict[str, float]]:
    """As the description of an index holds it."""
    return {str(layer): dict(cells._asdict()) for layer, cells in layers.items()}


def contextual_layers(num_layers: int) -> Sequence[int]:
    """All but the token layer, which is searched by words."""
    return range(1, num_layers)
