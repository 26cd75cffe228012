"""A whole index: what it finds is what brute force finds among the vectors of the text."""

import json

import numpy as np
import pytest

pytest.importorskip("faiss")
pytest.importorskip("h5py")

from elmo_plugin.embedding.embedder import SentenceEmbedder
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.neighbors.index import TokenIndex
from elmo_plugin.neighbors.query import IndexQuery, Search, parse_marked
from tests.embedding.runs import make_embedder, small_parts, write_text
from tests.neighbors.indexes import brute_force, build


@pytest.fixture
def embedder(tmp_path):
    return make_embedder(tmp_path / "biLM", kind=SentenceEmbedder)


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path / "text", 200)


def lines_of(text):
    return [line.split() for line in text.read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.mark.parametrize("dtype,tolerance", [("float32", 1e-5), ("float16", 2e-3)])
def test_thousand_queries_equal_brute_force(tmp_path, text, embedder, monkeypatch, dtype, tolerance):
    small_parts(monkeypatch)
    index = build(text, tmp_path / "index", embedder, dtype=dtype)
    sentences = lines_of(text)
    vectors = embedder.embed(sentences)
    assert index.vectors.tokens == len(vectors) > 400
    assert len({block.part for block in index.vectors.blocks}) > 2
    random = np.random.RandomState(0)
    tokens = random.randint(0, len(vectors), 1000)

    for layer in range(index.num_layers):
        queries = vectors[tokens, layer] + 0.1 * random.standard_normal((1000, vectors.shape[2])).astype("float32")
        found = index.nearest(layer, queries, 5)
        for query, similarities, numbers in zip(queries, found.similarities, found.numbers):
            expected = brute_force(vectors[:, layer], query)
            np.testing.assert_allclose(similarities, np.sort(expected)[::-1][:5], atol=tolerance)
            np.testing.assert_allclose(similarities, expected[numbers], atol=tolerance)


def test_every_token_is_where_it_says(tmp_path, text, embedder, monkeypatch):
    small_parts(monkeypatch)
    index = build(text, tmp_path / "index", embedder)

    expected = [
        (line, tokens, position) for line, tokens in enumerate(lines_of(text)) for position in range(len(tokens))
    ]
    assert [index.place(token) for token in range(index.vectors.tokens)] == expected


def test_words_and_their_neighbours(tmp_path, text, embedder, monkeypatch):
    small_parts(monkeypatch)
    index = build(text, tmp_path / "index", embedder, dtype="float32")
    tokens = [token for line in lines_of(text) for token in line]
    assert sorted(zip(index.words.words, index.words.counts.tolist())) == sorted(
        (word, tokens.count(word)) for word in set(tokens)
    )

    near = IndexQuery(index, embedder).words("the", 3)

    words = sorted(set(tokens) - {"the"})
    vectors = embedder.embed([[word] for word in words])[:, 0]
    expected = brute_force(vectors, embedder.embed([["the"]])[0, 0])
    best = np.argsort(-expected)[:3]
    assert [one.word for one in near] == [words[place] for place in best]
    np.testing.assert_allclose([one.similarity for one in near], expected[best], atol=1e-6)
    assert [one.occurrences for one in near] == [tokens.count(one.word) for one in near]


def test_the_sentence_itself_is_left_out(tmp_path, embedder):
    (tmp_path / "text").write_text("a the .\n" * 40 + "the a .\nit the .\n")
    index = build(tmp_path / "text", tmp_path / "index", embedder)
    query = IndexQuery(index, embedder)

    near = query.tokens(["a", "the", "."], 1, 2, Search(k=4))

    assert {" ".join(one.tokens) for one in near} == {"the a .", "it the ."}
    assert len(near) == 4
    assert len(query.tokens(["a", "the", "."], 1, 2, Search(k=100))) == 6, "all there are"


def test_no_more_neighbours_than_there_are(tmp_path, embedder):
    (tmp_path / "text").write_text("a the .\nthe a .\n")
    index = build(tmp_path / "text", tmp_path / "index", embedder)
    query = np.ones((1, 12), dtype="float32")

    assert index.nearest(1, query, 10**12).numbers.shape == (1, 6)
    assert index.nearest_words(query, 10**12).numbers.shape == (1, 3)
    assert len(IndexQuery(index, embedder).tokens(["a", "the", "."], 0, 1, Search(k=10**12))) == 3


def test_another_bilm_is_refused(tmp_path, text, embedder):
    index = build(text, tmp_path / "index", embedder)

    with pytest.raises(OptionsError, match="built with another biLM, state or precision .*weights 'tiny'"):
        IndexQuery(index, make_embedder(tmp_path / "biLM", "warm", kind=SentenceEmbedder))


def test_layers_and_numbers_that_are_not_there(tmp_path, text, embedder):
    index = build(text, tmp_path / "index", embedder)
    query = np.ones((1, 12), dtype="float32")

    with pytest.raises(OptionsError, match="layer 3: the index has the layers 0 to 2"):
        index.nearest(3, query, 1)
    with pytest.raises(OptionsError, match="k is 0"):
        index.nearest_words(query, 0)
    with pytest.raises(OptionsError, match="built without approximate search"):
        index.nearest(1, query, 1, is_exact=False)
    asked = IndexQuery(index, embedder)
    for layer in (3, -1):
        with pytest.raises(OptionsError, match=f"layer {layer}: the index has the layers 0 to 2"):
            asked.tokens(["a"], 0, layer, Search())
    for k in (0, -3):
        with pytest.raises(OptionsError, match=f"k is {k}, expected 1 or more"):
            asked.tokens(["a"], 0, 1, Search(k))
        with pytest.raises(OptionsError, match=f"k is {k}, expected 1 or more"):
            asked.words("a", k)


def test_what_is_no_index_is_refused(tmp_path, text, embedder):
    with pytest.raises(FormatError, match="no such folder"):
        TokenIndex(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="no finished index .--resume goes on with one"):
        TokenIndex(tmp_path / "empty")
    build(text, tmp_path / "index", embedder)
    description = tmp_path / "index" / "index.json"
    content = json.loads(description.read_text())
    description.write_text(json.dumps({**content, "index_version": 2}))
    with pytest.raises(FormatError, match="version 2, expected 1"):
        TokenIndex(tmp_path / "index")
    description.write_text(json.dumps({name: value for name, value in content.items() if name != "state"}))
    with pytest.raises(FormatError, match=r"has no \['state'\]"):
        TokenIndex(tmp_path / "index")
    description.write_text("{")
    with pytest.raises(FormatError, match="expected the description of an index"):
        TokenIndex(tmp_path / "index")


@pytest.mark.parametrize("name", ["tokens/00000000.part", "words.zip"])
def test_damage_is_seen(tmp_path, text, embedder, name):
    build(text, tmp_path / "index", embedder)
    path = tmp_path / "index" / name
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match=path.name):
        TokenIndex(tmp_path / "index")
    path.unlink()
    with pytest.raises(FormatError, match=path.name):
        TokenIndex(tmp_path / "index")


@pytest.mark.parametrize(
    "name,value",
    [
        ("num_layers", "x"),
        ("num_layers", 9),
        ("weights_fingerprint", None),
        ("state", "warm"),
        ("weights", None),
        ("approximate", "x"),
        ("approximate", {"1": {"cells": 3}}),
        ("approximate", {"x": {}}),
    ],
    ids=str,
)
def test_a_description_of_something_else_is_refused(tmp_path, text, embedder, name, value):
    build(text, tmp_path / "index", embedder)
    path = tmp_path / "index" / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))

    with pytest.raises(FormatError, match=f"index.json: .*{name}.*Build the index again"):
        TokenIndex(tmp_path / "index")


def test_a_damaged_text_is_named(tmp_path, embedder):
    (tmp_path / "text").write_text("a remarkable line\n")
    index = build(tmp_path / "text", tmp_path / "index", embedder)
    path = tmp_path / "index" / "tokens" / "00000000.part"
    path.write_bytes(path.read_bytes().replace(b"a remarkable line", b"a rEmarkable line"))

    with pytest.raises(FormatError, match="00000000.part: damaged .*Build it again"):
        TokenIndex(tmp_path / "index").place(1)
    with pytest.raises(FormatError, match="00000000.part: damaged"):
        index.occurrences("remarkable", 1)


@pytest.mark.parametrize("sentence,tokens,place", [("a *b* c", ["a", "b", "c"], 1), ("*** *  **", ["*", "*", "**"], 0)])
def test_marked_word(sentence, tokens, place):
    assert parse_marked(sentence) == (tokens, place)


@pytest.mark.parametrize("sentence,count", [("", 0), ("a b", 0), ("* ** a*", 0), ("*a* *b*", 2)])
def test_one_word_is_marked(sentence, count):
    with pytest.raises(OptionsError, match=f"{count} tokens are marked"):
        parse_marked(sentence)


def test_text_that_is_no_unicode_is_refused():
    with pytest.raises(OptionsError, match="character 4 is no Unicode"):
        parse_marked("*a*\udce9")


@pytest.mark.parametrize("limit", [1, 7, 10_000])
def test_occurrences_are_those_of_the_text(tmp_path, text, embedder, monkeypatch, limit):
    small_parts(monkeypatch)
    index = build(text, tmp_path / "index", embedder)
    tokens = [token for line in lines_of(text) for token in line]

    for word in sorted(set(tokens)):
        expected = [number for number, token in enumerate(tokens) if token == word]
        assert index.occurrences(word, limit).tolist() == expected[:limit]
        assert index.count(word) == len(expected)
    assert (index.occurrences("nowhere", limit).tolist(), index.count("nowhere")) == ([], 0)
