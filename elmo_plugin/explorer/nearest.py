"""The neighbours of a word in each layer: from an index, or from the sentences of the page."""

from typing import List, NamedTuple, Optional, Sequence

import numpy as np

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.explorer.explorer import Explorer
from elmo_plugin.neighbors.nearest import NONE, NearestSearch, Neighbors
from elmo_plugin.neighbors.query import IndexQuery, Search, TokenNeighbor, WordNeighbor

K = 8


class LayerNeighbors(NamedTuple):
    """
    What is near a word in a layer.

    # Parameters

    layer : its number.
    words : in layer 0, where tokens of a word have one vector.
    tokens : in the other layers.
    recall : of an approximate search, as the build of the index measured it; None for an exact one.
    """

    layer: int
    words: List[WordNeighbor]
    tokens: List[TokenNeighbor]
    recall: Optional[float] = None


def nearest(
    explorer: Explorer, sentences: Sequence[Sequence[str]], sentence: int, word: int, k: int = K
) -> List[LayerNeighbors]:
    """
    Find the neighbours of a word; tokens of the very same sentence are left out.

    # Parameters

    explorer : with an index, or without.
    sentences : of the page, which are searched where there is no index.
    sentence, word : which word of them.
    k : neighbours in each layer, at most.
    """
    if explorer.query is not None:
        return _in_index(explorer, explorer.query, sentences[sentence], word, k)
    found = [LayerNeighbors(0, _words_of_page(explorer.embedder, sentences, sentences[sentence][word], k), [])]
    for layer in range(1, explorer.num_layers):
        tokens = _tokens_of_page(explorer.embedder, sentences, sentences[sentence], word, layer, k)
        found.append(LayerNeighbors(layer, [], tokens))
    return found


def _in_index(
    explorer: Explorer, query: IndexQuery, sentence: Sequence[str], word: int, k: int
) -> List[LayerNeighbors]:
    index = explorer.index
    assert index is not None
    search = Search(k, is_exact=not index.is_approximate)
    found = [LayerNeighbors(0, query.words(sentence[word], k), [])]
    for layer in range(1, index.num_layers):
        tokens = query.tokens(sentence, word, layer, search)
        found.append(LayerNeighbors(layer, [], tokens, index.recall(layer) if index.is_approximate else None))
    return found


def _words_of_page(
    embedder: SentenceEmbedder, sentences: Sequence[Sequence[str]], word: str, k: int
) -> List[WordNeighbor]:
    tokens = [token for sentence in sentences for token in sentence]
    places = {token: place for place, token in reversed(list(enumerate(tokens)))}
    others = [token for token in places if token != word]
    vectors = embedder.embed(sentences)[:, 0]
    found = _search(vectors[places[word]], vectors[[places[token] for token in others]], k)
    return [
        WordNeighbor(float(similarity), others[number], tokens.count(others[number]))
        for similarity, number in zip(found.similarities[0], found.numbers[0])
        if number != NONE
    ]


def _tokens_of_page(
    embedder: SentenceEmbedder, sentences: Sequence[Sequence[str]], own: Sequence[str], word: int, layer: int, k: int
) -> List[TokenNeighbor]:
    places = [
        (number, position)
        for number, sentence in enumerate(sentences)
        if list(sentence) != list(own)
        for position in range(len(sentence))
    ]
    others = [sentence for sentence in sentences if list(sentence) != list(own)]
    vectors = embedder.embed([own, *others])[:, layer]
    found = _search(vectors[word], vectors[len(own) :], k)
    return [
        TokenNeighbor(float(similarity), places[number][0], list(sentences[places[number][0]]), places[number][1])
        for similarity, number in zip(found.similarities[0], found.numbers[0])
        if number != NONE
    ]


def _search(query: np.ndarray, vectors: np.ndarray, k: int) -> Neighbors:
    search = NearestSearch(query[None], k)
    search.add(vectors, np.arange(len(vectors), dtype=np.int64))
    return search.result()
