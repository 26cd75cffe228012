"""Items of trained models: what is kept, what is refused; the paper's models are in tests/experiments."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("allennlp")

import torch  # noqa: E402
from allennlp.common import Params  # noqa: E402
from allennlp.data import Instance, Token, Vocabulary  # noqa: E402
from allennlp.data.fields import LabelField, MetadataField, SequenceLabelField, TextField  # noqa: E402
from allennlp.data.token_indexers import SingleIdTokenIndexer  # noqa: E402

from elmo_plugin.reproduction import items, outcome  # noqa: E402
from tests.reproduction.runs import MIX, leave_items, leave_result, some_items  # noqa: E402


def instance(words="a b", label="x", tags=("O", "O"), about=1):
    text = TextField([Token(word) for word in words.split()], {"tokens": SingleIdTokenIndexer()})
    return Instance(
        {
            "text": text,
            "label": LabelField(label),
            "tags": SequenceLabelField(list(tags), text),
            "metadata": MetadataField({"about": about}),
        }
    )


def test_items_are_read_as_they_were_written(tmp_path):
    assert items.read(tmp_path, "test") is None
    found = some_items([1, 0, 1])
    leave_items(tmp_path, "test", found)

    assert items.read(tmp_path, "test") == found
    assert items.read(tmp_path, "development") is None
    assert found.corpus_score() == pytest.approx(2 / 3)


def test_digest_is_of_words_and_labels():
    known = items.digest([instance(), instance("c d")])

    assert known == items.digest([instance(about=2), instance("c d")])
    others = [
        [instance("c d"), instance()],
        [instance(label="y"), instance("c d")],
        [instance(tags=("O", "B")), instance("c d")],
        [instance()],
    ]
    assert known not in [items.digest(other) for other in others]


@pytest.mark.parametrize("name", ["passage", "premise", "text", "tokens"])
def test_items_of_one_text_have_one_number(name):
    """Whatever else they have: a question, a hypothesis, a predicate."""
    texts = [instance(words).fields["text"] for words in ("a b", "c d", "a b", "ab c", "c d")]
    found = [Instance({name: text, "label": LabelField(str(place))}) for place, text in enumerate(texts)]
    found[1].add_field("hypothesis", texts[0])

    assert items.groups_of(found) == [0, 1, 0, 2, 1]
    with pytest.raises(items.ItemsError, match=r"has the fields \['label'\], expected a text in one of \['passage'"):
        items.groups_of([Instance({"label": LabelField("x")})])


def test_digest_is_of_the_answers_to_a_question():
    def question(*answers):
        return Instance({"metadata": MetadataField({"answer_texts": list(answers)})})

    digests = [items.digest([question(*answers)]) for answers in (["Bonn"], ["cat"], ["Bonn", "cat"], ["Bonncat"], [])]
    assert len(set(digests)) == 5 and digests[0] == items.digest([question("Bonn")])


@pytest.mark.parametrize(
    "changes",
    [
        {"numbers": 3},
        {"numbers": []},
        {"numbers": [[1.0, 1.0], [1.0]]},
        {"measure": "Accuracy"},
        {"parameters": None},
        {"parameters": {"all": 3}},
        {"numbers": [[float("nan"), 1.0]]},
        {"mixes": [{}]},
        {"mixes": ["input"]},
        {"groups": None},
        {"groups": [0]},
        {"groups": [0, 1, 2, 3, 4]},
        {"groups": [0, -1, 1, 2]},
        {"groups": [0, 10**9, 1, 2]},
        {"groups": [0, 1.0, 1, 2]},
        {"groups": [0, True, 1, 2]},
    ],
)
def test_items_that_are_none_are_refused(changes, tmp_path):
    leave_items(tmp_path, "test", replace(some_items([1, 0]), **changes))

    with pytest.raises(items.ItemsError, match="items_test.json: not scored items .* Remove it, and run again"):
        items.read(tmp_path, "test")


@pytest.mark.parametrize("scored,is_refused", [(0.805, False), (0.82, True), (0.78, True)])
def test_a_score_that_is_not_the_training_s_is_refused(scored, is_refused, tmp_path, monkeypatch):
    """Batches may change it by a little, other data by more."""
    folder = tmp_path / "run"
    leave_result(folder, scored)
    model = torch.nn.Linear(2, 3)
    model.vocab = Vocabulary.from_instances([instance()])
    loaded = SimpleNamespace(
        model=model,
        config=Params(
            {
                "trainer": {"validation_metric": "+accuracy"},
                "test_data_path": "data",
                "data_loader": {"batch_sampler": {"batch_size": 7}},
                "model": {},
            }
        ),
        validation_dataset_reader=SimpleNamespace(read=lambda path: [instance()] * 5),
    )
    monkeypatch.setattr(outcome, "load", lambda archive, cuda_device: loaded)
    numbers = [[1.0, 1.0]] * 4 + [[0.0, 1.0]]
    monkeypatch.setattr(
        items, "score_items", lambda model, score, instances, size, device: ("CategoricalAccuracy", numbers[: size - 2])
    )

    if is_refused:
        with pytest.raises(
            items.ItemsError, match=r"accuracy on data is 0.8000, but metrics.json says 0.\d+. The data"
        ):
            items.evaluate(folder, "test")
        assert items.read(folder, "test") is None
    else:
        found = items.evaluate(folder, "test")
        assert items.read(folder, "test") == found
        assert found.parameters == {"all": 9, "trained": 9} and found.mixes == []


@pytest.mark.parametrize(
    "changes",
    [
        {"numbers": [[1.0]]},
        {"numbers": [[1.0, 1.0, 0.0]]},
        {"measure": "SrlEvalScorer"},
        {"mixes": [{**MIX, "weights": [0.5, "x", 0.1]}]},
        {"mixes": [{**MIX, "weights": [0.5, 0.5]}]},
        {"mixes": [{**MIX, "gamma": None}]},
        {"mixes": [{**MIX, "gamma": float("nan")}]},
        {"mixes": [{**MIX, "place": 1}]},
        {"mixes": [{"place": "input"}]},
    ],
    ids=str,
)
def test_items_that_are_not_what_they_are_said_to_be_are_refused(changes, tmp_path):
    """They would stop a whole table, or make a wrong number of it."""
    leave_items(tmp_path, "test", some_items([1, 0], **changes))

    with pytest.raises(items.ItemsError, match="not scored items"):
        items.read(tmp_path, "test")


def test_nested_without_end(tmp_path):
    items.path_of(tmp_path, "test").write_text("[" * 100_000)

    with pytest.raises(items.ItemsError, match="not scored items"):
        items.read(tmp_path, "test")


def test_data_with_other_labels_are_named(tmp_path, monkeypatch):
    model = torch.nn.Linear(2, 3)
    model.vocab = Vocabulary.from_instances([instance()])
    config = Params({"trainer": {"validation_metric": "+accuracy"}, "test_data_path": "data", "model": {}})
    reader = SimpleNamespace(read=lambda path: [instance(), instance(label="y")])
    loaded = SimpleNamespace(model=model, config=config, validation_dataset_reader=reader)
    monkeypatch.setattr(outcome, "load", lambda archive, cuda_device: loaded)

    with pytest.raises(items.ItemsError, match=f"^data: not the labels of the model in {tmp_path}: 'y' not found"):
        items.evaluate(tmp_path, "test")
