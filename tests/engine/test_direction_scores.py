import math

import pytest
import torch

from elmo_plugin.engine.direction_scores import DirectionScores, bounded_exp


def test_every_token_counts_the_same():
    """A batch of one token and a batch of three, by hand."""
    scores = DirectionScores(unknown=2)
    scores.add(torch.tensor([[1.0], [2.0]]), torch.tensor([[5], [2]]))
    scores.add(torch.tensor([[3.0, 0.0, 4.0], [0.0, 0.0, 6.0]]), torch.tensor([[2, -1, 7], [-1, -1, 2]]))

    assert scores.losses("loss") == {"loss_forward": pytest.approx(8 / 3), "loss_backward": 4.0}
    assert scores.perplexities() == {
        "perplexity_forward": pytest.approx(math.exp(8 / 3)),
        "perplexity_backward": pytest.approx(math.exp(4)),
        "perplexity": pytest.approx(math.exp((8 / 3 + 4) / 2)),
    }
    assert scores.counts() == {"tokens": 3, "unknown_rate": pytest.approx(1 / 3)}
    scores.reset()
    assert scores.counts() == {"tokens": 0, "unknown_rate": 0}
    assert scores.perplexities()["perplexity"] == 1


def test_perplexity_beyond_the_numbers_is_infinite():
    assert bounded_exp(1e6) == math.inf
    assert bounded_exp(1.0) == math.e
