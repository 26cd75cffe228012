"""The SQuAD model: its attention, its answers, independence of padding, and that it learns."""

import copy
import json
import math
from typing import List, Sequence, Tuple

import pytest
import torch

pytest.importorskip("allennlp_models.rc")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DatasetReader, Instance, Vocabulary
from allennlp.models import Model
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.models.bidaf_self_attention import BidafSelfAttention, best_spans
from tests import task_data

READER = {"type": "squad", "tokenizer": {"type": "spacy", "language": "blank:en", "pos_tags": False}}


@pytest.fixture(scope="module")
def instances(tmp_path_factory):
    path = tmp_path_factory.mktemp("squad") / "train.json"
    path.write_text(json.dumps(task_data.squad()))
    return list(DatasetReader.from_params(Params(copy.deepcopy(READER))).read(str(path)))


def build(instances, **changes):
    def gru(inputs):
        return {"type": "gru", "input_size": inputs, "hidden_size": 6, "bidirectional": True}

    torch.manual_seed(0)
    parameters = {
        "type": "bidaf_self_attention",
        "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 8}}},
        "phrase_layer": gru(8),
        "residual_layer": gru(12),
        "span_start_layer": gru(12),
        "span_end_layer": gru(24),
        **changes,
    }
    model = Model.from_params(vocab=Vocabulary.from_instances(instances), params=Params(parameters))
    assert isinstance(model, BidafSelfAttention)
    return model


def tensors(instances, model):
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    return batch.as_tensor_dict()


def test_output(instances):
    model = build(instances).eval()

    output = model(**tensors(instances, model))

    tokens = output["span_start_logits"].shape[1]
    assert output["span_start_probs"].shape == output["span_end_probs"].shape == (3, tokens)
    torch.testing.assert_close(output["span_end_probs"].sum(1), torch.ones(3))
    assert all(text in task_data.PASSAGE for text in output["best_span_str"])
    assert set(model.get_metrics()) == {"em", "f1", "start_acc", "end_acc", "span_acc"}


def test_answers_do_not_depend_on_batch_mates(instances):
    model = build(instances).eval()
    longer = model_instance("It was happy, and so was the man, who had been happy for long. " * 2)
    alone = model(**tensors([instances[0]], model))
    together = model(**tensors([longer, instances[0]], model))

    tokens = alone["span_start_probs"].shape[1]
    for name in ("span_start_probs", "span_end_probs"):
        torch.testing.assert_close(together[name][1, :tokens], alone[name][0], rtol=0, atol=1e-6)
        assert (together[name][1, tokens:] == 0).all()


def model_instance(passage, question="Who was happy?"):
    reader = DatasetReader.from_params(Params(copy.deepcopy(READER)))
    return reader.text_to_instance(question, passage, char_spans=[(0, 2)] if passage else None, answer_texts=["It"])


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", ["question", "passage"])
def test_a_text_without_tokens_is_refused(name, alone, instances):
    model = build(instances).eval()
    empty = model_instance(**{"passage": "It was happy.", name: ""})
    mates = [] if alone else [instances[0].duplicate()]
    for instance in (empty, *mates):
        for field in ("span_start", "span_end"):
            instance.fields.pop(field, None)

    message = rf"bidaf_self_attention: a {name} without a token, in item {1 if alone else 2} of its batch \(.*\)\. Exp"
    with pytest.raises(ConfigurationError, match=message):
        model(**tensors([*mates, empty], model))


def sum_of_products(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(one * other for one, other in zip(left, right))


def mean_by(scores: Sequence[float], vectors: Sequence[List[float]]) -> List[float]:
    """The mean of vectors by the softmax of their scores."""
    shares = [math.exp(score - max(scores)) for score in scores]
    return [sum_of_products(shares, column) / math.fsum(shares) for column in zip(*vectors)]


def attended_by_hand(
    passage: List[List[float]], question: List[List[float]], weights: List[float]
) -> List[List[float]]:
    """
    What is merged for each token of a passage (Clark and Gardner 2017): itself, the question as it sees it, and itself
    times each of that and the passage as the question sees it. In loops over tokens, and without any padding.
    """
    dim = len(passage[0])
    scores = []  # of each token: by each of the question
    for token in passage:
        row = []
        for asked in question:
            products = [one * other for one, other in zip(token, asked)]
            score = sum_of_products(weights[:dim], token)
            score += sum_of_products(weights[dim : 2 * dim], asked)
            score += sum_of_products(weights[2 * dim :], products)
            row.append(score)
        scores.append(row)
    to_passage = mean_by([max(row) for row in scores], passage)
    merged = []
    for token, row in zip(passage, scores):
        to_question = mean_by(row, question)
        parts = [token, to_question]
        parts += [[one * other for one, other in zip(token, vector)] for vector in (to_question, to_passage)]
        merged.append([value for part in parts for value in part])
    return merged


@pytest.mark.parametrize("seed", range(3))
def test_passage_and_question_attend_to_each_other_as_by_hand(instances: List[Instance], seed: int) -> None:
    """With padding in both that is larger than what is real, so that it would win wherever it is let in."""
    model = build(instances).double().eval()
    generator = torch.Generator().manual_seed(seed)

    def random_texts(lengths: Tuple[int, ...]) -> Tuple[torch.Tensor, torch.Tensor]:
        mask = torch.arange(max(lengths) + 1) < torch.tensor(lengths).unsqueeze(1)  # a place of padding in each
        vectors = torch.randn(*mask.shape, 12, generator=generator, dtype=torch.float64)
        return torch.where(mask.unsqueeze(-1), vectors, 10 * vectors), mask

    (passage, mask), (question, question_mask) = random_texts((5, 3)), random_texts((2, 4))
    merged = []
    model._merge.register_forward_pre_hook(lambda _, inputs: merged.append(inputs[0]))

    output = model._attend_to_question(passage, mask, question, question_mask)

    weights = model._attention._weight_vector.tolist()
    for row in range(2):
        real = mask[row]
        expected = attended_by_hand(passage[row][real].tolist(), question[row][question_mask[row]].tolist(), weights)
        torch.testing.assert_close(merged[0][row][real], torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(output, model._merge(merged[0]).clamp(min=0.0))


def test_token_attends_to_the_others_and_to_nothing(instances):
    """With all scores at zero the other tokens of a passage of three share 2/3 of the weight, and nothing has 1/3."""
    model = build(instances).eval()
    for parameter in model._self_attention.parameters():
        parameter.data.zero_()
    model._no_alignment.data.zero_()
    attended = []
    model._self_merge.register_forward_pre_hook(lambda _, inputs: attended.append(inputs[0]))
    mask = torch.tensor([[True, True, True, False]])

    model._attend_to_itself(torch.randn(1, 4, 12), mask)

    mean, encoded, product = attended[0].split(12, dim=-1)
    others = encoded[:, :3].sum(1, keepdim=True) - encoded[:, :3]
    torch.testing.assert_close(mean[:, :3], others / 3)
    torch.testing.assert_close(product, mean * encoded)


def test_no_alignment_starts_at_minus_one(instances):
    assert build(instances)._no_alignment.tolist() == [-1.0]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 1000))
def test_best_span_is_the_best_of_all_allowed(tokens, max_length, seed):
    starts, ends = torch.randn(2, 2, tokens, generator=torch.Generator().manual_seed(seed))

    found = best_spans(starts, ends, max_length)

    for row in range(2):
        spans = [(first, last) for first in range(tokens) for last in range(first, min(tokens, first + max_length))]
        expected = max(spans, key=lambda span: float(starts[row, span[0]] + ends[row, span[1]]))
        assert tuple(found[row].tolist()) == expected


def test_loss_is_the_mean_of_both_ends(instances):
    model = build(instances).eval()
    batch = tensors(instances, model)

    output = model(**batch)

    expected = 0
    for name in ("span_start", "span_end"):
        right = output[f"{name}_probs"].gather(1, batch[name])
        expected = expected - right.log().mean()
    torch.testing.assert_close(output["loss"], expected)


def test_learns_a_handful_of_questions(instances):
    model = build(instances, dropout=0.0)
    batch = tensors(instances, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        optimizer.step()
    model.get_metrics(reset=True)
    model.eval()(**batch)

    assert model.get_metrics()["em"] == 1.0


def test_widths_that_do_not_fit_are_named(instances):
    wrong = {"type": "gru", "input_size": 13, "hidden_size": 6, "bidirectional": True}
    with pytest.raises(ConfigurationError, match="span end layer"):
        build(instances, span_end_layer=wrong)


@pytest.mark.parametrize("length", [0, -3])
def test_answers_without_a_token_are_refused(instances, length):
    with pytest.raises(ConfigurationError, match=f'"max_span_length" is {length}, expected at least 1'):
        build(instances, max_span_length=length)
