import pytest
import torch

from elmo_plugin.benchmark import indexing
from elmo_plugin.engine import characters
from tests import tiny

pytest.importorskip("allennlp")

BATCHES = [[sentence for sentence in tiny.SENTENCES if sentence], [["one", "more"]]]


def test_tensors_are_allennlps():
    results = indexing.measure(BATCHES, rounds=3, seconds=60)

    assert [result.what for result in results] == [
        "token indexer",
        "token indexer, new words",
        "batch_to_ids",
        "batch_to_ids, new words",
    ]
    for result in results:
        assert result.equal
        assert result.words == 17
        assert len(result.seconds) == len(result.stock_seconds) == 3
        assert result.words_per_second > 0 and result.ratio.median > 0


def test_no_times_where_tensors_differ(monkeypatch):
    def wrong(batches):
        return lambda: [torch.zeros(1)] * len(batches)

    def right(batches):
        return lambda: [torch.ones(1)] * len(batches)

    monkeypatch.setattr(indexing, "_ways", lambda: {"this": (wrong, right)})

    result = indexing.measure(BATCHES, rounds=3, seconds=60)[0]

    assert not result.equal and result.seconds == [] and result.words_per_second == 0


def test_new_words_are_new_in_every_round():
    seen = []

    def convert(batches):
        return lambda: seen.append(characters.remembered_rows(50)) or seen[-1].rows(["a"])

    once = indexing._forgetting(convert, BATCHES)
    once()
    once()

    assert seen[0] is not seen[1]
