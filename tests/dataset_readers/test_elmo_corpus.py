from unittest import mock

import pytest
from torch import distributed

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.data import DatasetReader, Instance, Token  # noqa: E402
from allennlp.data.fields import ListField, MetadataField, TextField  # noqa: E402

from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader  # noqa: E402


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text("a b\n\nc\nd e f\n")
    return tmp_path / "text"


def test_reads_sentences(text):
    reader = DatasetReader.by_name("elmo_corpus")()

    assert [instance["words"].metadata for instance in reader.read(text)] == [["a", "b"], ["c"], ["d", "e", "f"]]


def test_cut(text):
    assert ElmoCorpusReader(max_sentences=2).corpus(text).counts().tokens == 3


def test_the_number_of_instances_is_no_way_to_cut():
    with pytest.raises(ConfigurationError, match="max_instances is 2, .*Give max_sentences"):
        ElmoCorpusReader(max_instances=2)


def test_each_process_reads_its_share_once(text, tmp_path):
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        sentences = []
        for rank in range(2):
            with mock.patch.multiple(distributed, get_rank=lambda rank=rank: rank, get_world_size=lambda: 2):
                sentences.append([instance["words"].metadata for instance in ElmoCorpusReader().read(text)])
    finally:
        distributed.destroy_process_group()

    assert sentences == [[["a", "b"], ["d", "e", "f"]], [["c"]]]


def test_word_table_follows_the_parameters():
    vocabulary = {"<S>": 0, "</S>": 1, "<UNK>": 2}

    assert ElmoCorpusReader(max_characters_per_token=7).word_table(vocabulary).inputs([0]).shape == (1, 7)
    assert ElmoCorpusReader(word_level=True).word_table(vocabulary).inputs([0, 1]).tolist() == [1, 2]


class PairReader(DatasetReader):
    """Two texts and a list of texts in an instance."""

    def _read(self, file_path):
        for number in range(2):
            fields = {name: TextField([Token(name), Token(str(number))]) for name in ("first", "second")}
            fields["more"] = ListField([TextField([Token("x")]), TextField([Token("y")])])
            yield Instance({**fields, "number": MetadataField(number)})


def sentences(text, **parameters):
    blocks = ElmoCorpusReader(task_reader=PairReader(), **parameters).corpus(text).blocks()
    return [" ".join(words) for block in blocks for words in block]


def test_text_of_a_task(text):
    assert sentences(text) == ["first 0", "second 0", "x", "y", "first 1", "second 1", "x", "y"]
    assert sentences(text, fields=["second"]) == ["second 0", "second 1"]
    distinct = ["first 0", "second 0", "x", "y", "first 1", "second 1"]
    assert sentences(text, distinct=True) == distinct, "x and y come again"
    assert sentences(text, max_sentences=3) == ["first 0", "second 0", "x"]


def test_the_readers_of_tasks_see_paths_as_they_are(text):
    """A folder may be one data set, and an address none of this machine's files."""
    seen = []

    class Reader(PairReader):
        def _read(self, file_path):
            seen.append(file_path)
            return super()._read(file_path)

    reader = ElmoCorpusReader(task_reader=Reader())
    for source in (str(text.parent), "https://some.where/train_*.txt", ["one", "two"]):
        next(reader.corpus(source).blocks())
    assert len(list(reader.corpus(["one", "two"]).blocks())) == 2
    assert seen == [str(text.parent), "https://some.where/train_*.txt", "one", "one", "two"]


def test_fields_that_hold_no_text_are_named(text):
    with pytest.raises(ConfigurationError, match=r"expected text in the fields \['number'\] of PairReader; .*'second'"):
        sentences(text, fields=["number"])
    with pytest.raises(ConfigurationError, match="fields and distinct belong to a task_reader"):
        ElmoCorpusReader(fields=["number"])
    with pytest.raises(ConfigurationError, match="fields and distinct belong to a task_reader"):
        ElmoCorpusReader(distinct=True)


def test_text_of_a_task_is_shared_out_once(text, tmp_path):
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        read = []
        for rank in range(2):
            with mock.patch.multiple(distributed, get_rank=lambda rank=rank: rank, get_world_size=lambda: 2):
                read.append(sentences(text, fields=["first"]))
        with pytest.raises(ConfigurationError, match="max_sentences would be another number"):
            sentences(text, max_sentences=1)
    finally:
        distributed.destroy_process_group()

    assert read == [["first 0"], ["first 1"]]
