"""Occurrences of a word and where they lie."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

pytest.importorskip("faiss")
pytest.importorskip("safetensors")

from elmo_plugin.explorer.occurrences import Occurrence  # noqa: E402
from elmo_plugin.explorer.spread import occurrence_vectors, principal_plane, spread  # noqa: E402
from elmo_plugin.probes.sense_names import sense_name  # noqa: E402
from tests.explorer.explorers import SENTENCES, make_explorer, make_index  # noqa: E402
from tests.probes import texts  # noqa: E402


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-8, 8, width=16)))
@example(np.array([[0.0], [1.013279e-06]], dtype=np.float32))
def test_plane_keeps_the_most_variance(vectors):
    points, shares = principal_plane(vectors)

    assert points.shape == (len(vectors), 2)
    centred = vectors.astype(float) - vectors.astype(float).mean(axis=0)
    values = np.zeros(2)
    found = np.sort(np.linalg.eigvalsh(centred.T @ centred))[::-1][:2]
    values[: len(found)] = found
    np.testing.assert_allclose((points**2).sum(axis=0), values, atol=1e-6 * max(1.0, values[0]))
    total = (centred**2).sum()
    np.testing.assert_allclose(shares, values / total if values.any() else [0, 0], atol=1e-5)
    for axis in range(2):
        assert points[np.abs(points[:, axis]).argmax(), axis] >= 0


def test_equal_vectors_are_one_point():
    points, shares = principal_plane(np.full((3, 4), 0.1, dtype=np.float32))

    assert not points.any() and shares == (0.0, 0.0)


def test_a_sentence_with_many_occurrences_is_embedded_once():
    asked = []

    class Embedder:
        def embed(self, sentences):
            asked.extend(sentences)
            return np.arange(6.0).reshape(6, 1, 1)

    places = [(("a", "b"), 0, 1), (("c", "a", "a", "d"), 1, 2), (("c", "a", "a", "d"), 1, 3), (("a", "b"), 1, 2)]
    found = occurrence_vectors(Embedder(), [Occurrence(tokens, *place, "") for tokens, *place in places])

    assert asked == [("a", "b"), ("c", "a", "a", "d")]
    assert found[:, 0, 0].tolist() == [0.0, 3.0, 3.5, 1.0]


def test_without_senses_and_index_the_page_is_all():
    found = spread(make_explorer(), SENTENCES, 1, 0, 2)

    assert [(one.number, one.start) for one in found.occurrences] == [(1, 6), (2, 0), (2, 4), (3, 0)]
    assert (found.senses, found.total) == ([], 0)


def test_occurrences_of_a_lemma_come_with_their_senses(tmp_path):
    path = texts.write_semcor(tmp_path / "train.jsonl.gz", texts.TRAIN)
    explorer = make_explorer(senses=[str(path)])

    found = spread(explorer, SENTENCES, 0, 4, 1)

    assert dict(found.senses) == {texts.SPORT: 2, texts.ACT: 2, texts.STAGE: 1}
    assert (found.total, len(found.occurrences), found.points.shape) == (5, 7, (7, 2))
    assert [one.number for one in found.occurrences] == [0] * 5 + [1, 2]
    assert spread(explorer, SENTENCES, 0, 6, 1).total == 0


def test_many_occurrences_are_drawn(tmp_path):
    path = texts.write_semcor(tmp_path / "train.jsonl.gz", texts.TRAIN * 3)
    senses = make_explorer(senses=[str(path)]).senses

    drawn, total = senses.find("Play", 4)

    assert (len(drawn), total) == (4, 15)
    assert senses.find("play", 4) == (drawn, total) != senses.find("play", 4, seed=1)
    assert senses.find("not yet", 9)[1] == senses.find("nOt yet", 9)[1] == 3


def test_an_index_gives_occurrences_without_senses(tmp_path):
    folder = make_index(make_explorer(), SENTENCES * 3, tmp_path / "index")

    found = spread(make_explorer(index=folder), SENTENCES[:1], 0, 4, 2)

    assert [(one.source, one.start) for one in found.occurrences[:2]] == [("line 1", 4), ("line 2", 2)]
    assert (found.total, len(found.occurrences), found.senses) == (6, 7, [])


@pytest.mark.parametrize(
    "key,name",
    [
        ("play%1:10:01::", "noun.communication play%1:10:01::"),
        ("play%2:33:00::", "verb.competition play%2:33:00::"),
        ("good%5:00:00:ample:00", "adj.all good%5:00:00:ample:00"),
        ("odd%1:99:00::", "odd%1:99:00::"),
        ("odd%1:²:00::", "odd%1:²:00::"),
        ("odd", "odd"),
    ],
)
def test_senses_are_named_by_their_file(key, name):
    assert sense_name(key) == name
