"""A metric item by item; the models of the paper's tasks are in tests/experiments."""

import pytest

pytest.importorskip("allennlp")

import torch  # noqa: E402
from allennlp.data import Instance, Vocabulary  # noqa: E402
from allennlp.data.fields import LabelField, TensorField  # noqa: E402
from allennlp.models import Model  # noqa: E402
from allennlp.training.metrics import CategoricalAccuracy  # noqa: E402

from elmo_plugin.reproduction.recorder import ItemsError, score_items  # noqa: E402


class Answers(Model):
    """Answers what it is told, and counts how often it was asked."""

    def __init__(self, metric):
        super().__init__(Vocabulary())
        self.metrics = {"other": CategoricalAccuracy(top_k=2), "accuracy": metric}
        self.batches = []

    def forward(self, answer, label):
        self.batches.append(len(label))
        logits = torch.nn.functional.one_hot(answer.long(), 3).float()
        for metric in self.metrics.values():
            metric(logits, label)
        return {}

    def get_metrics(self, reset=False):
        return {name: metric.get_metric(reset) for name, metric in self.metrics.items()}


def instances(*pairs):
    return [
        Instance({"answer": TensorField(torch.tensor(answer)), "label": LabelField(label, skip_indexing=True)})
        for answer, label in pairs
    ]


def test_items_in_their_order_whatever_the_batches():
    metric = CategoricalAccuracy()
    metric(torch.eye(3), torch.tensor([1, 1, 1]))  # something from before
    model = Answers(metric)

    name, numbers = score_items(model, "accuracy", instances((0, 0), (1, 2), (2, 2), (1, 0), (1, 1)), batch_size=2)

    assert name == "CategoricalAccuracy"
    assert numbers == [[1, 1], [0, 1], [1, 1], [0, 1], [1, 1]]
    assert model.batches == [2, 2, 1]
    assert model.metrics["accuracy"] is metric


def test_a_model_without_such_a_metric_is_refused():
    with pytest.raises(ItemsError, match="Answers has no metric that gives 'f1' by sums over items"):
        score_items(Answers(CategoricalAccuracy()), "f1", instances((0, 0)), batch_size=1)


def test_nothing_to_score_is_refused():
    with pytest.raises(ItemsError, match="no item to score"):
        score_items(Answers(CategoricalAccuracy()), "accuracy", [], batch_size=1)


def test_a_score_that_is_not_of_these_sums_is_refused():
    class Doubled(CategoricalAccuracy):
        def get_metric(self, reset=False):
            return super().get_metric(reset) / 2

    metric = Doubled()
    model = Answers(metric)
    with pytest.raises(ItemsError, match="accuracy of the items together is 1.0, of the whole part 0.5"):
        score_items(model, "accuracy", instances((0, 0)), batch_size=1)
    assert model.metrics["accuracy"] is metric
