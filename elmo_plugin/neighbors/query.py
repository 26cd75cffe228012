"""A sentence with a marked word, and what is near that word in an index."""

from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.neighbors.index import TokenIndex
from elmo_plugin.neighbors.nearest import NONE

MARK = "*"


class TokenNeighbor(NamedTuple):
    """
    A token of the index.

    # Parameters

    similarity : cosine of the two vectors.
    line : of the text, from 0.
    tokens : of that line.
    position : of the token among them.
    """

    similarity: float
    line: int
    tokens: List[str]
    position: int


class WordNeighbor(NamedTuple):
    """
    A word of the index.

    # Parameters

    similarity : cosine of the two static vectors.
    word : as it is spelled.
    occurrences : its tokens in the text.
    """

    similarity: float
    word: str
    occurrences: int


class Search(NamedTuple):
    """
    How to search.

    # Parameters

    k : neighbours in each layer.
    is_exact : look at all tokens; else into the nearest cells.
    looked_into : cells to look into; None for as many as the build found to be enough.
    """

    k: int = 10
    is_exact: bool = True
    looked_into: Optional[int] = None


def parse_marked(sentence: str) -> Tuple[List[str], int]:
    """
    Read a sentence, tokens between white space, one of them between asterisks: `He *played* the part .`

    # Returns

    Its tokens without the marks, and the place of the marked one.

    # Raises

    `OptionsError` where no token is marked, or several, or the sentence is not Unicode.
    """
    try:
        sentence.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OptionsError(
            f"{sentence[:200]!r}: character {error.start + 1} is no Unicode, expected text in UTF-8. Is the terminal's "
            "encoding another one?"
        ) from error
    tokens = sentence.split()
    places = [place for place, token in enumerate(tokens) if _is_marked(token)]
    if len(places) != 1:
        raise OptionsError(
            f"{sentence[:200]!r}: {len(places)} tokens are marked, expected one, such as 'He *played* the part .'"
        )
    (place,) = places
    tokens[place] = tokens[place][1:-1]
    return tokens, place


def _is_marked(token: str) -> bool:
    return len(token) > 2 and token.startswith(MARK) and token.endswith(MARK)


class IndexQuery:
    """
    Asks an index with the biLM that it was built with.

    # Parameters

    index : opened.
    embedder : of all layers.

    # Raises

    `OptionsError` where the biLM is another one.
    """

    def __init__(self, index: TokenIndex, embedder: SentenceEmbedder) -> None:
        found, expected = embedder.fingerprint(), index.description["weights_fingerprint"]
        if found != expected:
            raise OptionsError(
                f"the index was built with another biLM, state or precision (fingerprint {expected[:12]}, now "
                f"{found[:12]}): with weights {index.description['weights']!r}, state {index.description['state']!r}, "
                f"precision {index.description['precision']!r} (int8 counts by backend). Name that biLM, or build the "
                "index again."
            )
        self._index = index
        self._embedder = embedder

    def tokens(self, sentence: Sequence[str], position: int, layer: int, search: Search) -> List[TokenNeighbor]:
        """
        Find the nearest tokens in a layer; tokens of the very same sentence are left out.

        # Parameters

        sentence : its tokens.
        position : of the token that is asked about.
        layer : its number.
        search : how.

        # Raises

        `OptionsError` for a layer that is not there, and for fewer than one neighbour.
        """
        self._index.check(layer, search.k)
        query = self._vector(sentence, position, layer)
        own = list(sentence)
        wanted = search.k
        while True:
            found = self._index.nearest(layer, query, wanted, search.is_exact, search.looked_into)
            numbers = found.numbers[0][found.numbers[0] != NONE].tolist()
            neighbors = [
                TokenNeighbor(float(similarity), *self._index.place(number))
                for similarity, number in zip(found.similarities[0], numbers)
            ]
            others = [neighbor for neighbor in neighbors if neighbor.tokens != own]
            if len(others) >= search.k or len(numbers) < wanted or wanted >= self._index.vectors.tokens:
                return others[: search.k]
            wanted *= 2

    def words(self, word: str, k: int) -> List[WordNeighbor]:
        """Find the words with the nearest static vectors; the word itself is left out. Raises as `tokens`."""
        self._index.check(0, k)
        found = self._index.nearest_words(self._vector([word], 0, 0), k + 1)
        table = self._index.words
        neighbors = [
            WordNeighbor(float(similarity), table.words[number], int(table.counts[number]))
            for similarity, number in zip(found.similarities[0], found.numbers[0])
            if number != NONE and table.words[number] != word
        ]
        return neighbors[:k]

    def _vector(self, sentence: Sequence[str], position: int, layer: int) -> np.ndarray:
        return self._embedder.embed([sentence])[position, layer][None]
