"""Scores of sums are those of the metrics that the sums are of."""

import numpy as np
import pytest

for part in ("coref", "rc"):
    pytest.importorskip(f"allennlp_models.{part}")

import torch  # noqa: E402
from allennlp.data import Vocabulary  # noqa: E402
from allennlp.training.metrics import CategoricalAccuracy, SpanBasedF1Measure  # noqa: E402
from allennlp_models.coref.metrics.conll_coref_scores import ConllCorefScores  # noqa: E402
from allennlp_models.rc.metrics import SquadEmAndF1  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from elmo_plugin.reproduction.measures import MEASURES, conll_f1, measure_of, share, span_f1  # noqa: E402

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
LABELS = st.integers(0, len(TAGS) - 1)
SENTENCES = st.lists(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=6), min_size=1, max_size=5)


def score_of(metric):
    measure = MEASURES[type(metric).__name__]
    return float(measure.score(np.array(measure.sums(metric), dtype=float)))


@settings(max_examples=30, deadline=None)
@given(SENTENCES)
def test_spans_and_accuracies(sentences):
    vocab = Vocabulary(tokens_to_add={"labels": TAGS}, non_padded_namespaces=["labels"])
    spans, accuracy = SpanBasedF1Measure(vocab, tag_namespace="labels"), CategoricalAccuracy()
    for sentence in sentences:
        gold, found = torch.tensor(sentence).T
        scores = torch.nn.functional.one_hot(found, len(TAGS)).float()
        for metric in (spans, accuracy):
            metric(scores[None], gold[None])

    assert score_of(spans) == pytest.approx(spans.get_metric()["f1-measure-overall"], abs=1e-9)
    assert score_of(accuracy) == pytest.approx(accuracy.get_metric(), abs=1e-9)


def test_questions():
    metric = SquadEmAndF1()
    for answer, gold in (("red mat here", ["red mat"]), ("dog", ["cat"]), ("the cat", ["cat"])):
        metric(answer, gold)

    assert score_of(metric) == pytest.approx(metric.get_metric()[1])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-1, 4), min_size=6, max_size=6), st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_coreference(antecedents, entities):
    """Six mentions of a word each, linked to an earlier one or to none; gold entities as drawn."""
    links = [min(link, place - 1) for place, link in enumerate(antecedents)]
    gold = [[(place, place) for place in range(6) if entities[place] == entity] for entity in range(3)]
    metric = ConllCorefScores()
    metric(
        torch.tensor([[[place, place] for place in range(6)]]),
        torch.arange(6).expand(1, 6, 6),
        torch.tensor([links]),
        [{"clusters": [cluster for cluster in gold if len(cluster) > 1]}],
    )

    assert score_of(metric) == pytest.approx(metric.get_metric()[2], abs=1e-9)


@pytest.mark.parametrize("score,numbers", [(share, 2), (span_f1, 3), (conll_f1, 12)])
def test_scores_of_many_sums_at_once(score, numbers):
    """And of nothing at all."""
    sums = np.random.default_rng(0).integers(1, 9, size=(4, 2, numbers)).astype(float)
    sums[0] = 0

    scores = score(sums)

    assert scores.shape == (4, 2)
    assert (scores[0] == 0).all()
    assert scores[2, 1] == score(sums[2, 1])


def test_a_metric_is_known_by_its_class_and_those_above_it():
    class Ours(SquadEmAndF1):
        pass

    assert measure_of(Ours(), "f1") == "SquadEmAndF1"
    assert measure_of(Ours(), "accuracy") is None
