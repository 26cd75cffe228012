"""The scores of the tables are those of the official scorers, on cases that were worked out by hand."""

import shutil

import pytest

for part in ("coref", "rc", "structured_prediction"):
    pytest.importorskip(f"allennlp_models.{part}")

import torch  # noqa: E402
from allennlp.data import Vocabulary  # noqa: E402
from allennlp.training.metrics import SpanBasedF1Measure  # noqa: E402
from allennlp_models.coref.metrics.conll_coref_scores import Scorer  # noqa: E402
from allennlp_models.rc.metrics import SquadEmAndF1  # noqa: E402
from allennlp_models.structured_prediction.metrics.srl_eval_scorer import (  # noqa: E402
    DEFAULT_SRL_EVAL_PATH,
    SrlEvalScorer,
)


@pytest.mark.parametrize(
    "answer,gold,exact,f1",
    [
        ("The Mat!", ["mat"], 1.0, 1.0),  # case, article and punctuation do not count
        ("the red mat", ["mat on the floor", "red mat"], 1.0, 1.0),  # the best of all answers
        ("red mat here", ["red mat"], 0.0, 0.8),  # 2 of 3 words right, 2 of 2 found
        ("dog", ["cat"], 0.0, 0.0),
    ],
)
def test_squad(answer, gold, exact, f1):
    metric = SquadEmAndF1()
    metric(answer, gold)

    assert metric.get_metric() == (exact, pytest.approx(f1))


@pytest.mark.skipif(shutil.which("perl") is None, reason="srl-eval.pl needs Perl")
def test_semantic_roles():
    """Two of three arguments are found, one of them by a span too short; the verb does not count."""
    scorer = SrlEvalScorer(DEFAULT_SRL_EVAL_PATH, ignore_classes=["V"])
    gold = ["(A0*", "*)", "(V*)", "(A1*)", "(AM-TMP*)"]
    found = ["(A0*)", "*", "(V*)", "(A1*)", "*"]

    scorer([2], [["The", "cat", "saw", "it", "now"]], [found], [gold])
    scores = scorer.get_metric()

    assert scores["precision-overall"] == pytest.approx(1 / 2)
    assert scores["recall-overall"] == pytest.approx(1 / 3)
    assert scores["f1-measure-overall"] == pytest.approx(0.4)


def test_entities():
    """One of two entities has the wrong end: precision, recall and F1 of conlleval are 1/2."""
    tags = ["O", "B-PER", "L-PER", "U-LOC", "U-PER"]
    vocab = Vocabulary(tokens_to_add={"labels": tags}, non_padded_namespaces=["labels"])
    metric = SpanBasedF1Measure(vocab, tag_namespace="labels", label_encoding="BIOUL")
    place = {tag: vocab.get_token_index(tag, "labels") for tag in tags}
    gold = torch.tensor([[place[tag] for tag in ("B-PER", "L-PER", "U-LOC")]])
    found = torch.tensor([[place[tag] for tag in ("U-PER", "O", "U-LOC")]])

    metric(torch.nn.functional.one_hot(found, len(tags)).float(), gold)

    assert metric.get_metric()["f1-measure-overall"] == pytest.approx(0.5)


def test_coreference():
    """
    Gold {a b c} {d e}, found {a b} {c d e}: MUC 2/3; B-cubed 11/15; CEAF of entities 4/5, matched with each other.
    """
    spans = {name: (place, place) for place, name in enumerate("abcde")}
    gold = [tuple(spans[name] for name in cluster) for cluster in ("abc", "de")]
    found = [tuple(spans[name] for name in cluster) for cluster in ("ab", "cde")]

    def by_mention(clusters):
        return {mention: cluster for cluster in clusters for mention in cluster}

    f1 = {}
    for name, score in (("muc", Scorer.muc), ("b_cubed", Scorer.b_cubed), ("ceafe", Scorer.ceafe)):
        scorer = Scorer(score)
        scorer.update(found, gold, by_mention(found), by_mention(gold))
        f1[name] = scorer.get_f1()

    assert f1 == {"muc": pytest.approx(2 / 3), "b_cubed": pytest.approx(11 / 15), "ceafe": pytest.approx(4 / 5)}
