"""The same instances under other names."""

import pytest

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader

from tests import task_data

TEXT = "The###D cat###N\nIt###P\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data.txt").write_text(TEXT)
    return str(tmp_path / "data.txt")


def make(names):
    return DatasetReader.from_params(
        Params({"type": "renamed_fields", "reader": {"type": "sequence_tagging"}, "names": names})
    )


def test_fields_have_the_other_names(path):
    before = list(DatasetReader.from_params(Params({"type": "sequence_tagging"})).read(path))
    after = list(make({"tokens": "words", "tags": "labels"}).read(path))

    assert [sorted(instance.fields) for instance in after] == [["labels", "metadata", "words"]] * 2
    for one, other in zip(before, after):
        assert other["words"].tokens == one["tokens"].tokens
        assert other["labels"].labels == one["tags"].labels
        assert other["metadata"].metadata == one["metadata"].metadata


def test_fields_that_are_not_named_are_left_out(path):
    assert [sorted(one.fields) for one in make({"tokens": "tokens"}).read(path)] == [["metadata", "tokens"]] * 2


def test_batches_are_indexed(path):
    reader = make({"tokens": "words", "tags": "labels"})
    loader = MultiProcessDataLoader(reader, path, batch_size=2)
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))

    (batch,) = loader
    assert batch["words"]["tokens"]["tokens"].shape == batch["labels"].shape == (2, 2)


def test_processes_read_every_instance_once(tmp_path):
    pytest.importorskip("allennlp_models.pair_classification")
    path = tmp_path / "snli.jsonl"
    path.write_text(task_data.snli())
    pairs = {"type": "snli", "tokenizer": {"type": "just_spaces"}}
    names = {"premise": "words", "hypothesis": "more", "label": "class"}
    reader = DatasetReader.from_params(Params({"type": "renamed_fields", "reader": pairs, "names": names}))
    loader = MultiProcessDataLoader(reader, str(path), batch_size=1, num_workers=2)

    found = list(loader.iter_instances())
    assert sorted(instance["class"].label for instance in found) == ["contradiction", "entailment", "neutral"]
    assert [list(instance["words"].token_indexers) for instance in found] == [["tokens"]] * 3


def test_fields_that_are_not_there(path):
    with pytest.raises(ConfigurationError, match=r"has \['words'\], but the reader gives the fields \['metadata'"):
        list(make({"words": "tokens"}).read(path))


def test_text_that_is_left_out(path):
    with pytest.raises(ConfigurationError, match=r"leaves out \['tokens'\], expected a name for every field"):
        list(make({"tags": "labels"}).read(path))


@pytest.mark.parametrize("names", [{}, {"tokens": "a", "tags": "a"}])
def test_names_that_are_not_different(names):
    with pytest.raises(ConfigurationError, match='"names" is'):
        make(names)


def test_text_becomes_an_instance():
    from allennlp.data import Token

    instance = make({"tokens": "words"}).text_to_instance([Token("a")])

    assert [token.text for token in instance["words"].tokens] == ["a"]
