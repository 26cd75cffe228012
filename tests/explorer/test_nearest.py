"""Neighbours from the page and from an index."""

import numpy as np
import pytest

pytest.importorskip("faiss")
pytest.importorskip("safetensors")

from elmo_plugin.engine.errors import OptionsError  # noqa: E402
from elmo_plugin.explorer.explorer import Choices, Explorer, load  # noqa: E402
from elmo_plugin.explorer.nearest import nearest  # noqa: E402
from tests.explorer.explorers import SENTENCES, make_explorer, make_index, with_softmax  # noqa: E402
from tests.neighbors.indexes import brute_force  # noqa: E402


@pytest.fixture(scope="module")
def explorer():
    return make_explorer()


def test_the_page_is_searched_where_there_is_no_index(explorer):
    found = nearest(explorer, SENTENCES, 0, 4, k=3)

    assert [one.layer for one in found] == [0, 1, 2]
    assert all(one.recall is None for one in found)
    vectors = explorer.embedder.embed(SENTENCES)
    own = len(SENTENCES[0])
    for one in found[1:]:
        cosines = np.sort(brute_force(vectors[own:, one.layer], vectors[4, one.layer]))[::-1]
        np.testing.assert_allclose([near.similarity for near in one.tokens], cosines[:3], atol=1e-5)
        assert all(SENTENCES[near.line] == near.tokens != SENTENCES[0] for near in one.tokens)
        assert one.tokens[0].tokens[one.tokens[0].position] == "play"
    words = {near.word: near.occurrences for near in found[0].words}
    assert len(words) == 3 and "play" not in words


def test_a_single_sentence_has_words_and_no_neighbours_in_other_sentences(explorer):
    found = nearest(explorer, SENTENCES[:1], 0, 4)

    assert len(found[0].words) == 8 and [one.tokens for one in found[1:]] == [[], []]
    assert nearest(explorer, [["one"]], 0, 0)[0].words == []


def test_the_same_sentence_twice_is_left_out(explorer):
    found = nearest(explorer, [SENTENCES[0], SENTENCES[1], SENTENCES[0]], 0, 4, k=50)

    assert {near.line for one in found[1:] for near in one.tokens} == {1}


@pytest.mark.parametrize("is_approximate", [False, True])
def test_an_index_is_searched_where_there_is_one(explorer, tmp_path, is_approximate):
    folder = make_index(explorer, SENTENCES * 15, tmp_path / "index", is_approximate=is_approximate)
    loaded = load(Choices(index=folder))

    found = nearest(loaded, [["The", "play", "was", "long", "."]], 0, 1, k=2)

    assert (loaded.name, loaded.embedder.bilm.state) == ("builtin", "warm")
    assert [one.recall is not None for one in found] == [False, is_approximate, is_approximate]
    assert all(len(one.tokens) == 2 for one in found[1:])
    if not is_approximate:
        assert {near.tokens[near.position] for one in found[1:] for near in one.tokens} == {"play"}
    assert found[0].words[0].occurrences % 15 == 0


def test_an_index_of_another_state_is_refused(explorer, tmp_path):
    folder = make_index(explorer, SENTENCES, tmp_path / "index")

    with pytest.raises(OptionsError, match="state is 'reset', but the index .* was built with state 'warm'"):
        Explorer(with_softmax(), Choices(index=folder, state="reset"))
