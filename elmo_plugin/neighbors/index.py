"""An index, opened."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy as np

from elmo_plugin.embedding.parts_folder import PartsFolder, Place
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.neighbors.approximate import FOLDER, ApproximateLayer, Cells, exact_neighbors
from elmo_plugin.neighbors.build import DESCRIPTION, TOKENS, VERSION, WORDS
from elmo_plugin.neighbors.nearest import NearestSearch, Neighbors
from elmo_plugin.neighbors.words import read_words

#: what the description of an index says
_NAMES = (
    "weights",
    "weights_fingerprint",
    "state",
    "precision",
    "num_layers",
    "tokens",
    "approximate",
)


class TokenIndex:
    """
    The tokens of a text with their vectors.

    # Parameters

    path : the folder that `build_index` wrote.

    # Raises

    `FormatError` where it is no index, not finished, damaged, or of a later version.
    """

    def __init__(self, path: Path) -> None:
        self.description = _read(path)
        self.vectors = PartsFolder(path / TOKENS)
        self._words_path = path / WORDS
        self.words = read_words(self._words_path)
        _compare(path, self.description, self.vectors.description)
        self._cells = _cells(path, self.description["approximate"])
        self._approximate = {layer: ApproximateLayer(self.vectors, layer, path / FOLDER) for layer in self._cells}

    @property
    def num_layers(self) -> int:
        """Layers of each token, the token layer included."""
        return int(self.description["num_layers"])

    @property
    def is_approximate(self) -> bool:
        """Whether approximate search was prepared."""
        return bool(self._cells)

    def recall(self, layer: int) -> float:
        """What was measured for the approximate search of a layer."""
        return self._cells[layer].recall

    def nearest(
        self, layer: int, queries: np.ndarray, k: int, is_exact: bool = True, looked_into: Optional[int] = None
    ) -> Neighbors:
        """
        Find the nearest tokens.

        # Parameters

        layer : its number.
        queries : `(queries, dim)`.
        k : neighbours of each; no more than there are tokens.
        is_exact : look at all tokens; else into the nearest cells.
        looked_into : cells to look into; None for as many as the build found to be enough.

        # Raises

        `OptionsError` for a layer that is not there, and for approximate search that was not prepared.
        """
        self.check(layer, k)
        k = min(k, self.vectors.tokens)
        if is_exact:
            return exact_neighbors(self.vectors, layer, queries, k)
        if layer not in self._approximate:
            raise OptionsError(
                "the index was built without approximate search, or the layer is the token layer. Build it with "
                "--approximate, or search exactly."
            )
        cells = self._cells[layer]
        if looked_into is not None and not 1 <= looked_into <= cells.cells:
            raise OptionsError(f"{looked_into} cells to look into, expected 1 to {cells.cells} for layer {layer}.")
        return self._approximate[layer].search(queries, k, looked_into or cells.looked_into)

    def nearest_words(self, queries: np.ndarray, k: int) -> Neighbors:
        """
        Find the distinct words whose static vectors are nearest; their numbers are places in `words`.

        # Parameters

        queries : of the token layer, `(queries, dim)`.
        k : neighbours of each; no more than there are words.
        """
        self.check(0, k)
        search = NearestSearch(queries, min(k, len(self.words.words)))
        firsts = self.words.firsts
        for block in self.vectors.blocks:
            start, stop = np.searchsorted(firsts, [block.first, block.first + block.tokens])
            if stop > start:
                vectors = block.vectors(0)[firsts[start:stop] - block.first]
                search.add(vectors, np.arange(start, stop, dtype=np.int64))
        return search.result()

    def place(self, token: int) -> Place:
        """Where a token is in the text."""
        return self.vectors.place(token)

    def count(self, word: str) -> int:
        """How many tokens a word has in the text."""
        place = self._words_by_name.get(word)
        return 0 if place is None else int(self.words.counts[place])

    def occurrences(self, word: str, limit: int) -> np.ndarray:
        """
        Find the tokens of a word, by reading the text from the first of them on.

        # Parameters

        word : as it is spelled.
        limit : how many, at most.

        # Returns

        Their numbers, rising, `(tokens,)` int64.
        """
        place = self._words_by_name.get(word)
        if place is None:
            return np.zeros(0, dtype=np.int64)
        wanted = min(limit, int(self.words.counts[place]))
        numbers: List[int] = []
        for block in self.vectors.blocks:
            if block.first + block.tokens <= self.words.firsts[place]:
                continue
            if len(numbers) >= wanted:
                break
            tokens = (token for line in self.vectors.lines(block) for token in line)
            numbers.extend(number for number, token in enumerate(tokens, start=block.first) if token == word)
        return np.array(numbers[:wanted], dtype=np.int64)

    def check(self, layer: int, k: int) -> None:
        """Raise `OptionsError` for a layer that is not there, and for fewer than one neighbour."""
        if not 0 <= layer < self.num_layers:
            raise OptionsError(f"layer {layer}: the index has the layers 0 to {self.num_layers - 1}.")
        if k < 1:
            raise OptionsError(f"k is {k}, expected 1 or more.")

    @cached_property
    def _words_by_name(self) -> Dict[str, int]:
        return {word: place for place, word in enumerate(self.words.words)}


def _read(path: Path) -> Dict[str, Any]:
    description = path / DESCRIPTION
    if not description.is_file():
        state = "no finished index (--resume goes on with one)" if path.is_dir() else "no such folder"
        raise FormatError(f"{path}: {state}; expected an index that allennlp elmo-neighbors build has written.")
    try:
        found: Dict[str, Any] = json.loads(description.read_text(encoding="utf-8"))
        version = found["index_version"]
        missing = [name for name in _NAMES if version == VERSION and name not in found]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{description}: {error!r}; expected the description of an index. Build it again.") from error
    if version != VERSION:
        raise FormatError(f"{description}: version {version}, expected {VERSION}. Build the index again.")
    if missing:
        raise FormatError(f"{description}: has no {missing}; expected the description of an index. Build it again.")
    return found


def _compare(path: Path, description: Dict[str, Any], of_vectors: Dict[str, Any]) -> None:
    differing = [name for name, value in of_vectors.items() if description.get(name) != value]
    if differing or not isinstance(description["weights"], str):
        raise FormatError(
            f"{path / DESCRIPTION}: says otherwise than {path / TOKENS} about {differing or ['weights']}; expected the "
            "description of these vectors. Build the index again."
        )


def _cells(path: Path, found: Any) -> Dict[int, Cells]:
    try:
        return {int(layer): Cells(**of_layer) for layer, of_layer in found.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise FormatError(
            f'{path / DESCRIPTION}: "approximate": {error}; expected what a build writes. Build the index again.'
        ) from error
