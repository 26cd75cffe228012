import pytest
import torch

from elmo_plugin.benchmark import indexing
from tests import tiny

pytest.importorskip("allennlp")

BATCHES = [[sentence for sentence in tiny.SENTENCES if sentence], [["one", "more"]]]


def test_tensors_are_allennlps():
    results = indexing.measure(BATCHES, rounds=3, seconds=60)

    assert [result.what for result in results] == ["token indexer", "batch_to_ids"]
    for result in results:
        assert result.equal
        assert result.words == 17
        assert len(result.seconds) == len(result.stock_seconds) == 3
        assert result.words_per_second > 0 and result.ratio.median > 0


def test_no_times_where_tensors_differ(monkeypatch):
    def wrong(batches):
        return [torch.zeros(1)] * len(batches)

    def right(batches):
        return [torch.ones(1)] * len(batches)

    monkeypatch.setattr(indexing, "_ways", lambda: {"this": (wrong, right)})

    result = indexing.measure(BATCHES, rounds=3, seconds=60)[0]

    assert not result.equal and result.seconds == [] and result.words_per_second == 0
